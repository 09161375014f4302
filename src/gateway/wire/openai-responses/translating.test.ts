import assert from 'node:assert/strict'
import { providerOf } from '../../providers/every-provider.ts'
import { test } from 'node:test'
import { Refusal } from '#core/errors.ts'
import type { Json } from '../../model/json.ts'
import type { Target } from '../shared/target.ts'
import { decode } from './decode.ts'
import { encode } from './encode.ts'
import { sealReasoning } from './sealed.ts'

const target: Target = { model: 'm', maxOutputTokens: 1000, capabilities: [], provider: null }
const through = (request: Json, more: Partial<Target> = {}) => {
  const { canonical, losses } = decode(request)
  const result = encode(canonical, { ...target, ...more }, { stream: false })
  return { canonical, losses: [...losses, ...result.losses], body: result.body }
}
const png = 'data:image/png;base64,iVBORw0KGgo='
const pdf = 'data:application/pdf;base64,JVBERi0='

test('every type of item survives translation: media, both types of calls, results with media, reasoning', () => {
  const input = [
    { role: 'developer', content: 'Be short.' },
    {
      type: 'message',
      role: 'user',
      content: [
        { type: 'input_text', text: 'Look' },
        { type: 'input_image', image_url: png, detail: 'high' },
        { type: 'input_file', file_data: pdf, filename: 'a.pdf' },
        { type: 'input_file', file_url: 'https://example.com/b.pdf' },
      ],
    },
    { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'Hm' }], encrypted_content: 'gAAA' },
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Yes', annotations: [] }] },
    { type: 'function_call', call_id: 'c1', name: 'read', namespace: 'files', arguments: '{"a":1}' },
    { type: 'custom_tool_call', call_id: 'c2', name: 'patch', input: 'x "y"' },
    {
      type: 'function_call_output',
      call_id: 'c1',
      output: [
        { type: 'input_text', text: 'ok' },
        { type: 'input_image', image_url: png },
      ],
    },
    { type: 'custom_tool_call_output', call_id: 'c2', output: 'done' },
    { role: 'user', content: 'And?' },
  ]
  const { canonical, body, losses } = through({ model: 'x', input })
  assert.deepEqual(losses, [])
  assert.deepEqual(
    canonical.messages.map(({ role, content }) => [role, content.map(({ type }) => type)]),
    [
      ['system', ['text']],
      ['user', ['text', 'image', 'file', 'file']],
      ['assistant', ['reasoning', 'text', 'tool_call', 'tool_call']],
      ['tool', ['tool_result', 'tool_result']],
      ['user', ['text']],
    ],
  )
  const items = body['input'] as Json[]
  assert.deepEqual(items[1]?.['content'], [
    { type: 'input_text', text: 'Look' },
    { type: 'input_image', image_url: png, detail: 'high' },
    { type: 'input_file', filename: 'a.pdf', file_data: pdf },
    { type: 'input_file', file_url: 'https://example.com/b.pdf' },
  ])
  assert.deepEqual(items[2], input[2])
  assert.deepEqual(items[4], { type: 'function_call', call_id: 'c1', name: 'files__read', arguments: '{"a":1}' })
  assert.deepEqual(items[5], {
    type: 'function_call',
    call_id: 'c2',
    name: 'patch',
    arguments: '{"input":"x \\"y\\""}',
  })
  assert.deepEqual(items[6], {
    type: 'function_call_output',
    call_id: 'c1',
    output: [
      { type: 'input_text', text: 'ok' },
      { type: 'input_image', image_url: png, detail: 'auto' },
    ],
  })
  assert.deepEqual(items[7], { type: 'function_call_output', call_id: 'c2', output: 'done' })
})

test('settings keep their meaning: format, effort, choice, limits; strictness is never invented', () => {
  const tool = { type: 'function', name: 'f', parameters: { type: 'object', properties: {} } }
  const format = { type: 'json_schema', name: 'n', schema: { type: 'object', properties: {} }, strict: false }
  const request = {
    model: 'x',
    input: 'hi',
    instructions: 'Be short.',
    tools: [tool],
    tool_choice: { type: 'function', name: 'f' },
    parallel_tool_calls: false,
    text: { format },
    reasoning: { effort: 'low', summary: 'auto' },
    max_output_tokens: 5000,
    temperature: 0.5,
  }
  const { body, losses } = through(request, { capabilities: ['reasoning'], provider: providerOf('openai') })
  assert.deepEqual(losses, ['temperature'])
  assert.deepEqual(body, {
    model: 'm',
    input: [
      { type: 'message', role: 'system', content: [{ type: 'input_text', text: 'Be short.' }] },
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] },
    ],
    max_output_tokens: 1000,
    reasoning: { effort: 'low', summary: 'auto' },
    tools: [{ ...tool, strict: false }],
    tool_choice: { type: 'function', name: 'f' },
    parallel_tool_calls: false,
    text: { format },
    store: false,
    include: ['reasoning.encrypted_content'],
  })
  const narrowedRequest = decode({
    ...request,
    tool_choice: { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'f' }] },
  })
  assert.equal(narrowedRequest.canonical.tool_choice, 'required')
  assert.equal(
    decode({ ...request, tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [] } }).canonical.tool_choice,
    'none',
  )
})

test('untranslatable fields are named, and those that would make the answer wrong are refused', () => {
  const { losses } = through({
    model: 'x',
    input: [
      {
        role: 'user',
        content: [
          { type: 'input_image', file_id: 'file_1' },
          { type: 'input_text', text: 'x' },
        ],
      },
      { type: 'web_search_call', id: 'ws_1', status: 'completed' },
      { type: 'reasoning', id: 'rs_1', summary: [] },
    ],
    tools: [{ type: 'web_search' }],
    store: true,
    truncation: 'auto',
    service_tier: 'flex',
    top_logprobs: 3,
    include: ['message.output_text.logprobs'],
  })
  assert.deepEqual(losses.toSorted(), [
    'include.message.output_text.logprobs',
    'input.file_id',
    'input.web_search_call',
    'messages.prefill',
    'messages.reasoning',
    'service_tier',
    'store',
    'tools.web_search',
    'top_logprobs',
    'truncation',
  ])
  const assertRefused = (more: Json) => {
    try {
      decode({ model: 'x', input: 'x', ...more })
    } catch (error) {
      assert.ok(error instanceof Refusal)
      return error.param
    }
    return assert.fail()
  }
  assert.equal(assertRefused({ model: null }), 'model')
  assert.equal(assertRefused({ input: null }), 'input')
  assert.equal(assertRefused({ input: [] }), 'input')
  assert.equal(assertRefused({ input: [{ role: 'robot', content: 'x' }] }), 'input.0.role')
  assert.equal(assertRefused({ input: [{ content: 'x' }] }), 'input.0.type')
  assert.equal(assertRefused({ input: [{ type: 'function_call', name: 'f' }] }), 'input.0.call_id')
  assert.equal(
    assertRefused({ input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'ftp://x' }] }] }),
    'input.0.content.0.image_url',
  )
  assert.equal(assertRefused({ tools: [{ type: 'function' }] }), 'tools.0.name')
  assert.equal(assertRefused({ text: { format: { type: 'json_schema', name: 'n' } } }), 'text.format.schema')
  for (const param of ['previous_response_id', 'conversation', 'prompt'])
    assert.equal(assertRefused({ [param]: 'x' }), param)
  const raisedBody = through({ model: 'x', input: 'x', max_output_tokens: 5 })
  assert.deepEqual([raisedBody.body['max_output_tokens'], raisedBody.losses], [16, ['max_output_tokens']])
})

test('another vendor’s sealed reasoning is kept for that vendor only; a tampered envelope yields nothing', () => {
  const envelope = sealReasoning({ signature: 'EqQB', format: 'anthropic-claude-v1' })!
  const item = (encrypted_content: string) => ({
    type: 'reasoning',
    summary: [{ type: 'summary_text', text: 'Hm' }],
    encrypted_content,
  })
  const ask = (one: Json) => through({ model: 'x', input: [one, { role: 'user', content: 'x' }] })
  const { canonical, body, losses } = ask(item(envelope))
  assert.deepEqual(canonical.messages[0]?.content, [
    { type: 'reasoning', text: 'Hm', signature: 'EqQB', format: 'anthropic-claude-v1' },
  ])
  assert.deepEqual(losses, ['messages.reasoning'])
  assert.ok(!JSON.stringify(body).includes('EqQB'))
  for (const tampered of ['uk1.', 'uk1.!!!', 'uk1.W10', envelope.slice(0, -6)])
    assert.deepEqual(ask(item(tampered)).canonical.messages[0]?.content, [{ type: 'reasoning', text: 'Hm' }])
})
