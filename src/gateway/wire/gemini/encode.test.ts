import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decode as decodeMessages } from '../anthropic-messages/decode/decode.ts'
import { decode as decodeChat } from '../openai-chat/decode/decode.ts'
import type { Target } from '../shared/target.ts'
import { encode } from './encode.ts'

const flash: Target = { model: 'gemini-3.8-flash', maxOutputTokens: 65_536, capabilities: [], provider: null }
const pro: Target = { ...flash, model: 'gemini-2.5-pro' }
const hi = { role: 'user', content: 'hi' }
const chat = (body: object, target = flash) =>
  encode(decodeChat({ model: 'm', messages: [hi], ...body }).canonical, target)
const messages = (body: object, target = flash) =>
  encode(decodeMessages({ model: 'm', max_tokens: 100, messages: [hi], ...body }).canonical, target)
const config = (body: object, target = flash) => chat(body, target).body['generationConfig']

test('leading system messages are the instruction, later ones a tag in the user’s turn; equal roles are merged', () => {
  const { body, losses } = chat({
    messages: [
      { role: 'system', content: 'Be brief.' },
      hi,
      { role: 'assistant', content: 'ho' },
      { role: 'developer', content: 'Now in French.' },
      { role: 'user', content: 'again' },
    ],
  })
  assert.deepEqual(body['systemInstruction'], { parts: [{ text: 'Be brief.' }] })
  assert.deepEqual(body['contents'], [
    { role: 'user', parts: [{ text: 'hi' }] },
    { role: 'model', parts: [{ text: 'ho' }] },
    { role: 'user', parts: [{ text: '<system>\nNow in French.\n</system>' }, { text: 'again' }] },
  ])
  assert.deepEqual(losses, [])
})

test('images and PDFs are inline data, URLs are file data', () => {
  const png = 'iVBORw0KGgoAAAA='
  const { body } = chat({
    messages: [
      {
        role: 'user',
        content: [
          { type: 'image_url', image_url: { url: `data:image/jpeg;base64,${png}` } },
          { type: 'image_url', image_url: { url: 'https://example.com/a.webp?x=1' } },
          { type: 'file', file: { file_data: 'data:application/pdf;base64,JVBE', filename: 'a.pdf' } },
        ],
      },
    ],
  })
  assert.deepEqual((body['contents'] as { parts: unknown }[])[0]!.parts, [
    { inlineData: { mimeType: 'image/png', data: png } },
    { fileData: { mimeType: 'image/webp', fileUri: 'https://example.com/a.webp?x=1' } },
    { inlineData: { mimeType: 'application/pdf', data: 'JVBE', displayName: 'a.pdf' } },
  ])
})

const twoCalls = {
  role: 'assistant',
  content: null,
  reasoning_details: [
    { type: 'reasoning.text', text: 'hm' },
    { type: 'reasoning.encrypted', data: 'c2ln', id: 'call_a', format: 'google-gemini-v1' },
  ],
  tool_calls: [
    { id: 'call_a', type: 'function', function: { name: 'get', arguments: '{"q":1}' } },
    { id: 'call_b', type: 'function', function: { name: 'get', arguments: '' } },
  ],
}

test('parallel calls keep their signature, and their results follow in one turn, matched by ID and name', () => {
  const { body, losses } = chat({
    messages: [
      hi,
      twoCalls,
      { role: 'tool', tool_call_id: 'call_b', content: '{"ok":true}' },
      { role: 'tool', tool_call_id: 'call_a', content: 'sunny' },
    ],
  })
  assert.deepEqual((body['contents'] as unknown[]).slice(1), [
    {
      role: 'model',
      parts: [
        { functionCall: { id: 'call_a', name: 'get', args: { q: 1 } }, thoughtSignature: 'c2ln' },
        { functionCall: { id: 'call_b', name: 'get', args: {} } },
      ],
    },
    {
      role: 'user',
      parts: [
        { functionResponse: { id: 'call_a', name: 'get', response: { result: 'sunny' } } },
        { functionResponse: { id: 'call_b', name: 'get', response: { ok: true } } },
      ],
    },
  ])
  assert.deepEqual(losses, [])
})

test('a call without its signature gets Google’s placeholder if the model requires one', () => {
  const history = [hi, { ...twoCalls, reasoning_details: undefined }]
  const signatures = (target: Target) =>
    (
      chat({ messages: history }, target).body['contents'] as { parts: { thoughtSignature?: string }[] }[]
    )[1]!.parts.map((part) => part.thoughtSignature)
  assert.deepEqual(signatures(flash), ['skip_thought_signature_validator', undefined])
  assert.deepEqual(signatures(pro), [undefined, undefined])
})

test('errors in a result are an object, media are parts behind the responses', () => {
  const source = { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' }
  const { body } = messages({
    messages: [
      hi,
      { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'look', input: {} }] },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'toolu_1', is_error: true, content: [{ type: 'image', source }] },
          { type: 'text', text: 'So?' },
        ],
      },
    ],
  })
  assert.deepEqual((body['contents'] as { parts: unknown }[])[2]!.parts, [
    { functionResponse: { id: 'toolu_1', name: 'look', response: { error: '' } } },
    { text: 'From the result of tool call toolu_1:' },
    { inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } },
    { text: 'So?' },
  ])
})

test('tools, their names, and the tool choice are translated; strictness and single calls are losses', () => {
  const tool = (name: string, more: object = {}) => ({ type: 'function', function: { name, parameters: {}, ...more } })
  const { body, renamed, losses } = chat({
    tools: [tool('1st.tool', { strict: true }), tool('b')],
    tool_choice: { type: 'function', function: { name: '1st.tool' } },
    parallel_tool_calls: false,
  })
  const [[sentName, clientName]] = [...renamed] as [[string, string]]
  assert.match(sentName, /^_1st_tool/)
  assert.equal(clientName, '1st.tool')
  assert.deepEqual(body['toolConfig'], { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: [sentName] } })
  assert.deepEqual(losses, ['tools.strict', 'parallel_tool_calls'])
})

test('a schema is reduced to what Google accepts, and the removed keywords are losses', () => {
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: {
      kind: { const: 'a' },
      name: { type: ['string', 'null'], minLength: 3 },
      one: { allOf: [{ $ref: '#/definitions/One' }] },
    },
    required: ['kind', 'gone'],
    additionalProperties: false,
    definitions: { One: { type: 'integer', exclusiveMinimum: 0 } },
  }
  const { body, losses } = chat({
    response_format: { type: 'json_schema', json_schema: { name: 'a', schema } },
  })
  assert.deepEqual(body['generationConfig'], {
    responseMimeType: 'application/json',
    responseJsonSchema: {
      type: 'object',
      properties: { kind: { enum: ['a'] }, name: { type: ['string', 'null'] }, one: { $ref: '#/$defs/One' } },
      required: ['kind'],
      additionalProperties: false,
      $defs: { One: { type: 'integer' } },
    },
  })
  assert.deepEqual(losses, ['response_format.minLength', 'response_format.exclusiveMinimum'])
  const tools = [{ type: 'function', function: { name: 'a' } }]
  assert.deepEqual(chat({ tools, response_format: { type: 'json_object' } }, pro).losses, ['response_format'])
})

test('a required name without a property is left out', () => {
  const parameters = { type: 'object', properties: { a: {} }, required: ['a', { toString: 1 }, ['a']] }
  const { body } = chat({ tools: [{ type: 'function', function: { name: 'f', parameters } }] })
  assert.match(JSON.stringify(body['tools']), /"required":\["a"\]/)
})

test('sampling, limits, and stops have their own names; the gateway watches for the sixth stop', () => {
  assert.deepEqual(config({ temperature: 0.5, top_p: 0.9, top_k: 3, seed: 7, max_tokens: 99_999, stop: ['a', 'b'] }), {
    temperature: 0.5,
    topP: 0.9,
    topK: 3,
    seed: 7,
    maxOutputTokens: 65_536,
    stopSequences: ['a', 'b'],
  })
  const { losses, watched: watchedStops } = chat({ stop: [...'abcdef'], n: 2, user: 'ada' })
  assert.deepEqual([losses, watchedStops], [['n', 'user'], ['f']])
})

test('reasoning is a level for current models and a budget for older ones', () => {
  const thinking = (reasoning: object, target = flash) =>
    (config({ reasoning, max_tokens: 10_000 }, target) as { thinkingConfig?: unknown } | undefined)?.thinkingConfig
  assert.deepEqual(thinking({ effort: 'max' }), { thinkingLevel: 'high', includeThoughts: true })
  assert.deepEqual(thinking({ effort: 'minimal' }), { thinkingLevel: 'low', includeThoughts: true })
  assert.deepEqual(thinking({ max_tokens: 4000, exclude: true }), { thinkingLevel: 'medium' })
  assert.deepEqual(thinking({ effort: 'high' }, pro), { thinkingBudget: 8000, includeThoughts: true })
  assert.deepEqual(thinking({ effort: 'none' }, pro), { thinkingBudget: 128 })
  assert.deepEqual(chat({ reasoning: { effort: 'none' } }, { ...pro, model: 'gemini-2.5-flash' }).losses, [])
  assert.deepEqual(chat({ reasoning: { effort: 'none' } }).losses, ['reasoning'])
})
