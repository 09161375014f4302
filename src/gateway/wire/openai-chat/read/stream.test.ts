import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { usageOf } from '#core/usage.ts'
import { fold } from '../../../model/answer.ts'
import { cuts, readAll, readCut, readRecorded } from '../../chunks-for.test.ts'
import { readAnswer } from './answer.ts'
import { StreamReader } from './stream.ts'

const names =
  `text parallel-tools index-zero late-id openrouter-reasoning openrouter-error deepseek-reasoning bare-error
  multi-line cut cut-in-arguments calls-without-finish nothing empty-answer ollama-tools ollama-swallowed mistral-thinking azure-filters`.split(
    /\s+/,
  )
const readFixture = (name: string) => readAll(new StreamReader(), readRecorded(import.meta.url, name))

test('every recorded stream reads the same wherever its bytes are cut', () => {
  // Generated IDs differ each time.
  const still = (chunks: unknown) => JSON.stringify(chunks).replace(/call_[0-9A-Z]{26}/g, 'minted')
  for (const name of names) {
    const whole = still(readFixture(name))
    fc.assert(
      fc.property(cuts, (lengths) => {
        assert.equal(still(readCut(new StreamReader(), readRecorded(import.meta.url, name), lengths)), whole)
      }),
      { numRuns: 30 },
    )
  }
})

test('text comes with the usage that follows the finish, in disjoint buckets', () => {
  assert.deepEqual(readFixture('text').slice(-2), [
    {
      type: 'usage',
      usage: usageOf({
        input_tokens: 30,
        cache_read_tokens: 60,
        cache_write_5m_tokens: 10,
        output_tokens: 18,
        reasoning_tokens: 12,
      }),
    },
    { type: 'finish', reason: 'stop', native: 'stop' },
  ])
  assert.deepEqual(fold(readFixture('text')).content, [{ type: 'text', text: 'Grüße, 世界 👋🏽' }])
})

test('parallel calls keep their own arguments although their deltas alternate', () => {
  const { content, finish } = fold(readFixture('parallel-tools'))
  assert.deepEqual(content, [
    { type: 'tool_call', id: 'call_1', name: 'get_weather', arguments: '{"city":"Paris"}' },
    { type: 'tool_call', id: 'call_2', name: 'get_time', arguments: '{}' },
  ])
  assert.equal(finish?.reason, 'tool_calls')
})

test('calls that all have index 0 are kept apart, arguments may be an object or missing, stop means tool_calls', () => {
  const { content, finish, error } = fold(readFixture('index-zero'))
  assert.deepEqual(content, [
    { type: 'tool_call', id: 'a', name: 'f', arguments: '{"n":1}' },
    { type: 'tool_call', id: 'b', name: 'f', arguments: '{"n":2}' },
    { type: 'tool_call', id: 'c', name: 'g', arguments: '{}' },
  ])
  assert.deepEqual([finish, error], [{ reason: 'tool_calls', native: 'stop', stop_sequence: null }, null])
})

test('a second finish reason never hides that the answer was truncated', () => {
  const chunk = (finish_reason: string) =>
    `data: ${JSON.stringify({ id: 'x', choices: [{ index: 0, delta: { content: 'so' }, finish_reason }] })}\n\n`
  const reader = new StreamReader()
  const chunks = reader.feed(Buffer.from(`${chunk('length')}${chunk('stop')}data: [DONE]\n\n`))
  assert.equal(fold([...chunks, ...reader.end()]).finish?.reason, 'length')
})

test('a call whose ID arrives late waits for it', () => {
  assert.deepEqual(fold(readFixture('late-id')).content, [
    { type: 'tool_call', id: 'call_late', name: 'f', arguments: '{"a":1}' },
  ])
})

test('reasoning is read once, with its signature, from OpenRouter and from DeepSeek', () => {
  const router = fold(readFixture('openrouter-reasoning'))
  assert.deepEqual(router.content, [
    { type: 'reasoning', text: 'Let me think', signature: 'c2ln==', format: 'anthropic-claude-v1' },
    { type: 'reasoning', text: '', redacted: 'b3BhcXVl', format: 'anthropic-claude-v1' },
    { type: 'text', text: '42' },
  ])
  assert.equal(router.cost_usd, 0.00123)
  assert.equal(router.usage?.reasoning_tokens, 15)
  const seek = fold(readFixture('deepseek-reasoning'))
  assert.deepEqual(seek.content, [
    { type: 'reasoning', text: 'Hmm.' },
    { type: 'text', text: 'Yes' },
  ])
  assert.deepEqual([seek.usage?.input_tokens, seek.usage?.cache_read_tokens], [4, 16])
})

test('errors inside a stream end it, with their meaning', () => {
  assert.deepEqual(fold(readFixture('openrouter-error')).error, {
    kind: 'server_error',
    message: 'Upstream fell over',
    status: 502,
  })
  assert.deepEqual(fold(readFixture('bare-error')).error, { kind: 'overloaded', message: 'The server is overloaded' })
})

test('surrogate halves that arrive separately are joined', () => {
  const chunks = readFixture('multi-line')
  assert.deepEqual(fold(chunks).content, [{ type: 'text', text: 'a😀!' }])
  for (const chunk of chunks) if (chunk.type === 'text') assert.ok(chunk.text.isWellFormed())
})

test('a stream without an end is an error, unless it contains complete calls', () => {
  assert.equal(fold(readFixture('cut')).error?.kind, 'garbage')
  assert.equal(fold(readFixture('cut-in-arguments')).error?.kind, 'garbage')
  assert.equal(fold(readFixture('nothing')).error?.kind, 'garbage')
  assert.deepEqual(fold(readFixture('calls-without-finish')).finish, {
    reason: 'tool_calls',
    native: null,
    stop_sequence: null,
  })
  assert.equal(fold(readFixture('empty-answer')).finish?.reason, 'stop')
})

test('no bytes make the reader throw, and its last chunk is always a finish or an error', () => {
  const piece = fc.oneof(
    fc.constantFrom(
      'data: ',
      '{"choices":[{"delta":',
      '{"tool_calls":[{"index":0}]}',
      '{"content":"x"}',
      '}]}',
      '\n\n',
      '[DONE]',
      'null',
      '{"error":1}',
    ),
    fc.string(),
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const last = readAll(new StreamReader(), Buffer.from(pieces.join(''))).at(-1)
      assert.ok(last?.type === 'finish' || last?.type === 'error')
    }),
    { numRuns: 500 },
  )
})

test('whole answers are read like streams', () => {
  const message = {
    role: 'assistant',
    content: [
      { type: 'thinking', thinking: [{ type: 'text', text: 'so' }] },
      { type: 'text', text: 'Hello' },
    ],
    tool_calls: [{ id: 'x', type: 'function', function: { name: 'f', arguments: '' } }],
  }
  const answer = fold(readAnswer({ id: 'c', model: 'm', choices: [{ index: 0, message, finish_reason: 'stop' }] }))
  assert.deepEqual(answer.content, [
    { type: 'reasoning', text: 'so' },
    { type: 'text', text: 'Hello' },
    { type: 'tool_call', id: 'x', name: 'f', arguments: '{}' },
  ])
  assert.equal(answer.finish?.reason, 'tool_calls')
  const refusal = fold(readAnswer({ choices: [{ message: { content: null, refusal: 'No.' }, finish_reason: 'stop' }] }))
  assert.deepEqual([refusal.content, refusal.finish?.reason], [[{ type: 'text', text: 'No.' }], 'content_filter'])
  assert.equal(fold(readAnswer({ error: { message: 'x', code: 429 } })).error?.kind, 'rate_limited')
  for (const garbage of [null, 'hi', [], {}, { choices: [] }])
    assert.equal(fold(readAnswer(garbage)).error?.kind, 'garbage')
})

test('reasoning counted in addition to the completion is not subtracted from it', () => {
  const usage = {
    prompt_tokens: 10,
    completion_tokens: 5,
    total_tokens: 115,
    completion_tokens_details: { reasoning_tokens: 100 },
  }
  const answer = fold(readAnswer({ choices: [{ message: { content: 'x' }, finish_reason: 'stop' }], usage }))
  assert.deepEqual(
    [answer.usage?.output_tokens, answer.usage?.reasoning_tokens, answer.usage?.total_tokens],
    [5, 100, 115],
  )
})

test('Ollama: whole calls with their index; an answer whose error it swallows does not count as ended', () => {
  const { content, finish, usage } = fold(readFixture('ollama-tools'))
  assert.deepEqual(
    content.map((part) => (part.type === 'tool_call' ? part.arguments : part.text)),
    ['hm', '{"city":"Oslo"}', '{}'],
  )
  assert.deepEqual([finish?.reason, usage?.output_tokens], ['tool_calls', 5])
  assert.equal(fold(readFixture('ollama-swallowed')).error?.kind, 'garbage')
})

test('Mistral’s thinking parts are reasoning; Azure’s filter results are ignored', () => {
  assert.deepEqual(fold(readFixture('mistral-thinking')).content, [
    { type: 'reasoning', text: 'let me see' },
    { type: 'text', text: '42' },
  ])
  const { content, id, finish } = fold(readFixture('azure-filters'))
  assert.deepEqual([content, id, finish?.reason], [[{ type: 'text', text: 'Hello' }], 'chatcmpl-a', 'stop'])
})
