import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decode } from '../anthropic-messages/decode/decode.ts'
import type { Target } from '../shared/target.ts'
import { encode } from './encode/encode.ts'
import { createJsonScan } from '#packages/json-scan/json-scan.ts'
import { type Body, readBody } from '../../model/body.ts'
import { providerOf } from '../../providers/every-provider.ts'
import { refusesHistory, takesStreamOptions } from '../../providers/supports.ts'
import { reasoningWords } from './quirks.ts'

/** An endpoint of OpenAI's shape, created from a preset. */
const endpointOf = (preset: string | null) => ({ preset, shape: 'openai-chat' as const })
const hi = { role: 'user', content: 'hi' }
const at = (preset: string, model = 'm'): Target => ({
  provider: providerOf(preset),
  model,
  maxOutputTokens: null,
  capabilities: [],
})
const encodeFor = (target: Target, body: object = {}) =>
  encode(decode({ model: 'm', max_tokens: 100, messages: [hi], ...body }).canonical, target, { stream: true })
const effort = (word: string) => ({ thinking: { type: 'adaptive' }, output_config: { effort: word } })
const off = { thinking: { type: 'disabled' } }
/** The fields that only some providers have. */
const special = (target: Target, body: object) => {
  const { reasoning, reasoning_effort, thinking } = encodeFor(target, body).body
  return {
    ...(reasoning !== undefined && { reasoning }),
    ...(thinking !== undefined && { thinking }),
    reasoning_effort,
  }
}

test('each provider gets its own thinking parameter, with efforts that it supports', () => {
  const none = { reasoning_effort: undefined }
  assert.deepEqual(special(at('openai'), effort('medium')), { reasoning_effort: 'medium' })
  assert.deepEqual(special(at('deepseek'), effort('medium')), {
    thinking: { type: 'enabled' },
    reasoning_effort: 'high',
  })
  assert.deepEqual(special(at('deepseek'), off), { thinking: { type: 'disabled' }, ...none })
  assert.deepEqual(special(at('together', 'zai-org/GLM-5'), off), { reasoning: { enabled: false }, ...none })
  assert.deepEqual(special(at('together', 'openai/gpt-oss-120b'), effort('max')), { reasoning_effort: 'high' })
  assert.deepEqual(special(at('mistral', 'magistral-medium'), effort('low')), { reasoning_effort: 'high' })
  assert.deepEqual(special(at('moonshotai', 'kimi-k2.6'), effort('low')), { thinking: { type: 'enabled' }, ...none })
  assert.deepEqual(special(at('moonshotai', 'kimi-k3'), effort('medium')), { reasoning_effort: 'high' })
  assert.deepEqual(special(at('openrouter'), effort('low')), { reasoning: { effort: 'low' }, ...none })
  assert.deepEqual(encodeFor(at('groq', 'openai/gpt-oss-20b'), off).losses, ['reasoning'])
  assert.deepEqual(encodeFor(at('xai', 'grok-4.3'), off).losses, [])
})

test('Mistral gets IDs of nine characters, the same for a call and its result, and the same the next time', () => {
  const messages = [
    hi,
    { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_01ABC', name: 'get', input: {} }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_01ABC', content: 'x' }] },
  ]
  const ids = () => {
    const [, call, result] = encodeFor(at('mistral'), { messages }).body['messages'] as [
      unknown,
      { tool_calls: { id: string }[] },
      { tool_call_id: string },
    ]
    return [call.tool_calls[0]!.id, result.tool_call_id]
  }
  const [first, second] = ids()
  assert.match(first!, /^[a-zA-Z0-9]{9}$/)
  assert.deepEqual([first, second], [second, first])
  assert.deepEqual(ids(), [first, first])
})

test('fields that a provider rejects are left out: stream options, strictness, the other limit', () => {
  assert.equal(encodeFor(at('cohere')).body['stream_options'], undefined)
  assert.deepEqual(
    ['cohere', 'openai', null].map((preset) => takesStreamOptions(endpointOf(preset))),
    [false, true, true],
  )
  const tools = [{ name: 'get', strict: true, input_schema: { type: 'object' } }]
  assert.deepEqual(encodeFor(at('together'), { tools }).losses, ['tools.strict'])
  assert.deepEqual(encodeFor(at('groq'), { tools }).losses, [])
  assert.equal(encodeFor(at('azure')).body['max_completion_tokens'], 100)
  assert.equal(encodeFor(at('groq')).body['max_tokens'], 100)
})

test('plain reasoning returns with the calls that followed it, to providers that require it', () => {
  const messages = [
    hi,
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'hm' },
        { type: 'text', text: 'x' },
      ],
    },
    hi,
  ]
  const reasoning = (preset: string) =>
    (encodeFor(at(preset), { messages }).body['messages'] as { reasoning_content?: string }[])[1]!.reasoning_content
  assert.deepEqual([reasoning('deepseek'), reasoning('moonshotai'), reasoning('groq')], ['hm', 'hm', undefined])
})

test('messages with reasoning are rewritten only for providers that reject them', () => {
  const bodyOf = (text: string): Body => readBody(Buffer.from(text), createJsonScan(reasoningWords))
  const body = bodyOf('{"messages":[{"role":"assistant","content":"x","reasoning_content":"hm"}]}')
  assert.deepEqual(
    ['groq', 'mistral', 'cerebras', 'openrouter', 'deepseek', null].map((preset) =>
      refusesHistory(endpointOf(preset), body),
    ),
    [true, true, true, false, false, false],
  )
  assert.equal(refusesHistory(endpointOf('groq'), bodyOf('{"messages":[],"reasoning_effort":"low"}')), false)
})
