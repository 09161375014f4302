import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { Refusal } from '#core/errors.ts'
import type { CanonicalMessage, CanonicalPart, CanonicalRequest } from '../model/canonical-request.ts'
import { type Json, listOf, objectOf } from '../model/json.ts'
import { providerOf } from '../providers/every-provider.ts'
import { decode as decodeMessages } from './anthropic-messages/decode/decode.ts'
import { encode as encodeMessages } from './anthropic-messages/encode/encode.ts'
import { encode as encodeConverse } from './converse/encode.ts'
import { encode as encodeGemini } from './gemini/encode.ts'
import { decode as decodeChat } from './openai-chat/decode/decode.ts'
import { encode as encodeChat } from './openai-chat/encode/encode.ts'
import { decode as decodeResponses } from './openai-responses/decode.ts'
import { encode as encodeResponses } from './openai-responses/encode.ts'
import { GEMINI_FORMAT } from './parts/gemini-signature.ts'
import type { Encoded, Target } from './shared/target.ts'
import { renameBack } from './shared/tools/tool-names.ts'

const target: Target = { model: 'm', maxOutputTokens: null, capabilities: [], provider: null }
const stream = { stream: true }
const objects = (value: unknown): Json[] => listOf(value).map(objectOf)
const inside = (value: unknown, field: string): Json[] =>
  objects(value).flatMap((one) => (one[field] === undefined ? [] : [objectOf(one[field])]))
const contents = (body: Json, at: string, parts: string): Json[] =>
  objects(body[at]).flatMap((one) => objects(one[parts]))

type IdAndName = [id: unknown, name: unknown]
interface Wire {
  encode(canonical: CanonicalRequest): Encoded
  calls(body: Json): IdAndName[]
  /** Returns the IDs of results with their texts. */
  results(body: Json): [id: unknown, text: string][]
  tools(body: Json): unknown[]
}

const chat = (preset: string | null): Wire => ({
  encode: (canonical) =>
    encodeChat(canonical, { ...target, provider: preset === null ? null : providerOf(preset) }, stream),
  calls: ({ messages }) =>
    objects(messages).flatMap((one) =>
      objects(one['tool_calls']).map((call): IdAndName => [call['id'], objectOf(call['function'])['name']]),
    ),
  results: ({ messages }) =>
    objects(messages).flatMap((one) => (one['role'] === 'tool' ? [[one['tool_call_id'], String(one['content'])]] : [])),
  tools: ({ tools }) => inside(tools, 'function').map(({ name }) => name),
})

/** Every wire that a canonical request is written to. */
const wires: Record<string, Wire> = {
  chat: chat(null),
  mistral: chat('mistral'),
  openrouter: chat('openrouter'),
  responses: {
    encode: (canonical) => encodeResponses(canonical, target, stream),
    calls: ({ input }) =>
      objects(input).flatMap((one): IdAndName[] =>
        one['type'] === 'function_call' ? [[one['call_id'], one['name']]] : [],
      ),
    results: ({ input }) =>
      objects(input).flatMap((one) =>
        one['type'] === 'function_call_output' ? [[one['call_id'], String(one['output'])]] : [],
      ),
    tools: ({ tools }) => objects(tools).map(({ name }) => name),
  },
  anthropic: {
    encode: (canonical) => encodeMessages(canonical, target, stream),
    calls: (body) =>
      contents(body, 'messages', 'content').flatMap((one): IdAndName[] =>
        one['type'] === 'tool_use' ? [[one['id'], one['name']]] : [],
      ),
    results: (body) =>
      contents(body, 'messages', 'content').flatMap((one) =>
        one['type'] === 'tool_result' ? [[one['tool_use_id'], String(objects(one['content'])[0]?.['text'])]] : [],
      ),
    tools: ({ tools }) => objects(tools).map(({ name }) => name),
  },
  bedrock: {
    encode: (canonical) => encodeConverse(canonical, target),
    calls: (body) =>
      inside(contents(body, 'messages', 'content'), 'toolUse').map((one): IdAndName => [one['toolUseId'], one['name']]),
    results: (body) =>
      inside(contents(body, 'messages', 'content'), 'toolResult').map((one) => [
        one['toolUseId'],
        String(objects(one['content'])[0]?.['text']),
      ]),
    tools: ({ toolConfig }) => inside(objectOf(toolConfig)['tools'], 'toolSpec').map(({ name }) => name),
  },
  gemini: {
    encode: (canonical) => encodeGemini(canonical, { ...target, model: 'gemini-3-pro' }),
    calls: (body) =>
      inside(contents(body, 'contents', 'parts'), 'functionCall').map((one): IdAndName => [one['id'], one['name']]),
    results: (body) =>
      inside(contents(body, 'contents', 'parts'), 'functionResponse').map((one) => [
        one['id'],
        String(objectOf(one['response'])['result']),
      ]),
    tools: ({ tools }) => objects(objects(tools)[0]?.['functionDeclarations']).map(({ name }) => name),
  },
}

const call = (id: string, name = 'look'): CanonicalPart => ({ type: 'tool_call', id, name, arguments: '{}' })
const result = (id: string, text: string): CanonicalPart => ({
  type: 'tool_result',
  id,
  content: [{ type: 'text', text }],
  is_error: false,
})
const user: CanonicalMessage = { role: 'user', content: [{ type: 'text', text: 'Look.' }] }
/** Builds a conversation in which each turn's calls have these IDs, and each result says which call it belongs to. */
const turns = (ids: readonly (readonly string[])[]): CanonicalMessage[] =>
  ids.flatMap((some, turn): CanonicalMessage[] => [
    user,
    { role: 'assistant', content: some.map((id) => call(id)) },
    { role: 'tool', content: some.map((id, i) => result(id, `result ${turn} ${i}`)) },
  ])
const requestOf = (
  messages: CanonicalMessage[],
  tools: CanonicalRequest['tools'] = [{ name: 'look', parameters: {} }],
) => ({
  model: 'm',
  messages,
  tools,
})

test('call IDs that repeat in a conversation are sent unique, with the results of their own calls', () => {
  // Few distinct IDs, so that they repeat within and across messages. Some look like the numbered ones.
  const id = fc.constantFrom('call_0', 'call_0_2', 'call_0_2_2', 'a.b', 'a_b', 'x'.repeat(80), '')
  const conversations = fc.array(fc.array(id, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 5 })
  for (const [name, wire] of Object.entries(wires))
    fc.assert(
      fc.property(conversations, (ids) => {
        const { body } = wire.encode(requestOf(turns(ids)))
        const calls = wire.calls(body).map(([one]) => one)
        assert.equal(calls.length, ids.flat().length)
        assert.equal(new Set(calls).size, calls.length, `${name}: ${calls.join()}`)
        const texts = ids.flatMap((some, turn) => some.map((_, i) => `result ${turn} ${i}`))
        assert.deepEqual(
          wire.results(body),
          calls.map((one, i) => [one, texts[i]]),
        )
        // Earlier messages stay unchanged, so that vendor caches stay valid.
        const earlier = wire.encode(requestOf(turns(ids.slice(0, -1)))).body
        assert.deepEqual(
          wire.calls(earlier).map(([one]) => one),
          calls.slice(0, ids.slice(0, -1).flat().length),
        )
      }),
      { numRuns: 60 },
    )
})

test('unique IDs are sent unchanged, and signatures stay with their calls', () => {
  for (const [name, wire] of Object.entries(wires)) {
    if (name === 'mistral') continue
    const { body } = wire.encode(requestOf(turns([['call_0', 'b'], ['toolu_1'], ['call_0']])))
    assert.deepEqual(
      wire.calls(body).map(([id]) => id),
      ['call_0', 'b', 'toolu_1', 'call_0_2'],
      name,
    )
  }
  const signedCall = (id: string, redacted: string): CanonicalPart[] => [
    { type: 'reasoning', text: '', redacted, format: GEMINI_FORMAT, id },
    call(id),
  ]
  const messages: CanonicalMessage[] = [
    user,
    { role: 'assistant', content: [...signedCall('c', 'one'), ...signedCall('c', 'two')] },
    { role: 'tool', content: [result('c', '1'), result('c', '2')] },
    { role: 'assistant', content: signedCall('c', 'three') },
    { role: 'tool', content: [result('c', '3')] },
  ]
  const parts = contents(wires['gemini']!.encode(requestOf(messages)).body, 'contents', 'parts')
  const signatures = parts.flatMap((one) => (one['functionCall'] === undefined ? [] : [one['thoughtSignature']]))
  assert.deepEqual(signatures, ['one', 'two', 'three'])
})

test('tool names that collide after conversion are sent unique and restored in the response', () => {
  // The second one is what another name becomes.
  const pairs = [
    ['1a', '_1a'],
    [
      'a.b',
      encodeChat(requestOf([user], [{ name: 'a.b', parameters: {} }]), target, stream)
        .renamed.keys()
        .next().value!,
    ],
    ['x'.repeat(200), `${'x'.repeat(199)}y`],
    ['', '_'],
  ]
  for (const pair of pairs)
    for (const names of [pair, pair.toReversed()])
      for (const [wireName, wire] of Object.entries(wires)) {
        const history = turns([['c']]).map((message) => ({
          ...message,
          content: message.content.map((part) => (part.type === 'tool_call' ? { ...part, name: names[0]! } : part)),
        }))
        const { body, renamed } = wire.encode(
          requestOf(
            history,
            names.map((name) => ({ name, parameters: {} })),
          ),
        )
        const tools = wire.tools(body)
        assert.equal(new Set(tools).size, 2, `${wireName}: ${tools.join()}`)
        const back = (name: unknown) => renameBack({ type: 'tool_call_start', id: 'c', name: String(name) }, renamed)
        assert.deepEqual(
          tools.map((name) => objectOf(back(name))['name']),
          names,
          wireName,
        )
        assert.deepEqual(wire.calls(body), [[wire.calls(body)[0]![0], tools[0]]], wireName)
      }
})

const schema = (more: object) => ({ type: 'object', properties: { a: { type: 'string' }, ...more } })
type Definition = { name: string; description: string; parameters: object }
/** Every way in which a client can define a tool, and the field with its name. */
const definitions: Record<
  string,
  [decode: (tools: unknown) => CanonicalRequest, write: (tool: Definition) => object, field: string]
> = {
  chat: [
    (tools) => decodeChat({ model: 'm', messages: [{ role: 'user', content: 'x' }], tools }).canonical,
    (tool) => ({ type: 'function', function: tool }),
    'tools.1.function.name',
  ],
  'chat, Anthropic’s tools': [
    (tools) => decodeChat({ model: 'm', messages: [{ role: 'user', content: 'x' }], tools }).canonical,
    ({ name, description, parameters }) => ({ name, description, input_schema: parameters }),
    'tools.1.name',
  ],
  functions: [
    (functions) => decodeChat({ model: 'm', messages: [{ role: 'user', content: 'x' }], functions }).canonical,
    (tool) => tool,
    'functions.1.name',
  ],
  responses: [
    (tools) => decodeResponses({ model: 'm', input: 'x', tools }).canonical,
    (tool) => ({ type: 'function', ...tool }),
    'tools.1.name',
  ],
  namespace: [
    (tools) => decodeResponses({ model: 'm', input: 'x', tools: [{ type: 'namespace', name: 'n', tools }] }).canonical,
    (tool) => ({ type: 'function', ...tool }),
    'tools.0.tools.1.name',
  ],
  messages: [
    (tools) =>
      decodeMessages({ model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'x' }], tools }).canonical,
    ({ name, description, parameters }) => ({ name, description, input_schema: parameters }),
    'tools.1.name',
  ],
}

test('a tool defined twice is sent once, and one name for two tools is refused with its field', () => {
  const one: Definition = { name: 'look', description: 'Looks.', parameters: schema({}) }
  for (const [name, [decode, write, field]] of Object.entries(definitions)) {
    const reorderedTool = { ...one, parameters: Object.fromEntries(Object.entries(one.parameters).toReversed()) }
    const { tools } = decode([write(one), write(reorderedTool), write({ ...one, name: 'other' })])
    assert.deepEqual(
      tools?.map((tool) => tool.name.replace('n__', '')),
      ['look', 'other'],
      name,
    )
    for (const other of [
      { ...one, description: 'Looks again.' },
      { ...one, parameters: schema({ b: {} }) },
    ])
      assert.throws(
        () => decode([write(one), write(other)]),
        (error) => error instanceof Refusal && error.param === field && error.code === 'invalid_parameter',
        name,
      )
  }
  const markedTool = { ...definitions['messages']![1](one), cache_control: { type: 'ephemeral', ttl: '1h' } }
  const { tools } = definitions['messages']![0]([definitions['messages']![1](one), markedTool])
  assert.deepEqual(
    tools?.map(({ cache }) => cache),
    ['1h'],
  )
})

test('a request without messages, or only with instructions, has a message on every wire', () => {
  const empty: CanonicalMessage['content'] = [{ type: 'text', text: '' }]
  const content: CanonicalMessage['content'] = [{ type: 'text', text: 'Be kind.' }]
  const requests: CanonicalMessage[][] = [
    [{ role: 'user', content: empty }],
    [{ role: 'user', content: [] }],
    [{ role: 'system', content: content }],
    [
      { role: 'system', content: content },
      { role: 'user', content: empty },
    ],
    [
      { role: 'user', content: empty },
      { role: 'assistant', content: [{ type: 'text', text: ' ' }] },
    ],
  ]
  for (const [name, wire] of Object.entries(wires))
    for (const messages of requests) {
      const { body } = wire.encode({ model: 'm', messages })
      const sentMessages = listOf(body['messages'] ?? body['input'] ?? body['contents'])
      assert.ok(sentMessages.length > 0, `${name}: ${JSON.stringify(body)}`)
    }
})

test('files reach OpenAI with a file name that shows their type', () => {
  const extensions = {
    'application/pdf': 'pdf',
    'text/csv': 'csv',
    'application/json': 'json',
    'application/msword': 'doc',
  }
  for (const [media_type, ending] of Object.entries(extensions))
    for (const [name, sentType] of [
      [undefined, `file.${ending}`],
      ['Plan', `Plan.${ending}`],
      [`a.${ending.toUpperCase()}`, `a.${ending.toUpperCase()}`],
    ]) {
      const file: CanonicalPart = {
        type: 'file',
        source: { kind: 'base64', media_type, data: 'AAAA' },
        ...(name !== undefined && { name }),
      }
      for (const wire of ['chat', 'responses']) {
        const { body } = wires[wire]!.encode({ model: 'm', messages: [{ role: 'user', content: [file] }] })
        const part = contents(body, wire === 'chat' ? 'messages' : 'input', 'content')[0]!
        assert.equal(objectOf(part['file'] ?? part)['filename'], sentType, `${wire}: ${media_type}`)
      }
    }
})
