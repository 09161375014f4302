import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decode } from '../anthropic-messages/decode/decode.ts'
import type { Target } from '../shared/target.ts'
import { encode } from './encode/encode.ts'
import { createJsonScan } from '../../json-scan/json-scan.ts'
import { type Body, readBody } from '../../model/body.ts'
import { providerOf } from '../../providers/every-provider.ts'
import { refusesHistory, takesStreamOptions } from '../../providers/supports.ts'
import { reasoningWords } from './quirks.ts'

/** An endpoint of OpenAI's shape, as it was made from a preset. */
const made = (preset: string | null) => ({ preset, shape: 'openai-chat' as const })
const hi = { role: 'user', content: 'hi' }
const at = (preset: string, model = 'm'): Target => ({
  provider: providerOf(preset),
  model,
  maxOutputTokens: null,
  capabilities: [],
})
const put = (target: Target, body: object = {}) =>
  encode(decode({ model: 'm', max_tokens: 100, messages: [hi], ...body }).canonical, target, { stream: true })
const effort = (word: string) => ({ thinking: { type: 'adaptive' }, output_config: { effort: word } })
const off = { thinking: { type: 'disabled' } }
/** The fields that only some providers have. */
const special = (target: Target, body: object) => {
  const { reasoning, reasoning_effort, thinking } = put(target, body).body
  return {
    ...(reasoning !== undefined && { reasoning }),
    ...(thinking !== undefined && { thinking }),
    reasoning_effort,
  }
}

test('each provider is asked to think in its own words, with efforts that it knows', () => {
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
  assert.deepEqual(put(at('groq', 'openai/gpt-oss-20b'), off).losses, ['reasoning'])
  assert.deepEqual(put(at('xai', 'grok-4.3'), off).losses, [])
})

test('Mistral gets ids of nine, the same for a call and its result, and the same the next time', () => {
  const messages = [
    hi,
    { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_01ABC', name: 'get', input: {} }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_01ABC', content: 'x' }] },
  ]
  const ids = () => {
    const [, call, result] = put(at('mistral'), { messages }).body['messages'] as [
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

test('fields that a provider refuses are left out: stream options, strictness, the other limit', () => {
  assert.equal(put(at('cohere')).body['stream_options'], undefined)
  assert.deepEqual(
    ['cohere', 'openai', null].map((preset) => takesStreamOptions(made(preset))),
    [false, true, true],
  )
  const tools = [{ name: 'get', strict: true, input_schema: { type: 'object' } }]
  assert.deepEqual(put(at('together'), { tools }).losses, ['tools.strict'])
  assert.deepEqual(put(at('groq'), { tools }).losses, [])
  assert.equal(put(at('azure')).body['max_completion_tokens'], 100)
  assert.equal(put(at('groq')).body['max_tokens'], 100)
})

test('plain reasoning goes back to who wants it with the calls that followed it', () => {
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
    (put(at(preset), { messages }).body['messages'] as { reasoning_content?: string }[])[1]!.reasoning_content
  assert.deepEqual([reasoning('deepseek'), reasoning('moonshotai'), reasoning('groq')], ['hm', 'hm', undefined])
})

test('messages with reasoning in them are rewritten for who refuses them, and for nobody else', () => {
  const bodyOf = (text: string): Body => readBody(Buffer.from(text), createJsonScan(reasoningWords))
  const told = bodyOf('{"messages":[{"role":"assistant","content":"x","reasoning_content":"hm"}]}')
  assert.deepEqual(
    ['groq', 'mistral', 'cerebras', 'openrouter', 'deepseek', null].map((preset) => refusesHistory(made(preset), told)),
    [true, true, true, false, false, false],
  )
  assert.equal(refusesHistory(made('groq'), bodyOf('{"messages":[],"reasoning_effort":"low"}')), false)
})
