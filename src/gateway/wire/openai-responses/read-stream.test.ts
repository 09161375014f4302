import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { usageOf } from '#core/usage.ts'
import { fold } from '../../model/answer.ts'
import { cuts, readAll, readCut } from '../chunks-for.test.ts'
import type { Json } from '../../model/json.ts'
import { readAnswer } from './read-answer.ts'
import { openaiResponses } from '../../passthrough/formats/openai-responses.ts'
import { StreamReader } from './read-stream.ts'

const wire = (events: Json[]): Buffer =>
  Buffer.from(events.map((event) => `event: ${String(event['type'])}\ndata: ${JSON.stringify(event)}\n\n`).join(''))
const readEvents = (...events: Json[]) => readAll(new StreamReader(), wire(events))

const createdEvent = {
  type: 'response.created',
  response: { id: 'resp_1', model: 'm', status: 'in_progress', output: [] },
}
const usage = {
  input_tokens: 100,
  input_tokens_details: { cached_tokens: 60, cache_write_tokens: 10 },
  output_tokens: 30,
  output_tokens_details: { reasoning_tokens: 12 },
  total_tokens: 130,
}
const endEvent = (more: Json = {}, type = 'completed'): Json => ({
  type: `response.${type}`,
  response: { id: 'resp_1', model: 'm', status: type, output: [], usage, ...more },
})
const message = (text: string) => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  content: [{ type: 'output_text', text }],
})
const call = { id: 'fc_1', type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{"a":1}' }
const reasoningItem = {
  id: 'rs_1',
  type: 'reasoning',
  summary: [
    { type: 'summary_text', text: 'One' },
    { type: 'summary_text', text: 'Two' },
  ],
  encrypted_content: 'gAAA',
}

const stream: Json[] = [
  createdEvent,
  {
    type: 'response.output_item.added',
    output_index: 0,
    item: { ...reasoningItem, summary: [], encrypted_content: '' },
  },
  { type: 'response.reasoning_summary_part.added', output_index: 0, summary_index: 0 },
  { type: 'response.reasoning_summary_text.delta', output_index: 0, summary_index: 0, delta: 'One' },
  { type: 'response.reasoning_summary_part.added', output_index: 0, summary_index: 1 },
  { type: 'response.reasoning_summary_text.delta', output_index: 0, summary_index: 1, delta: 'Two' },
  { type: 'response.output_item.done', output_index: 0, item: reasoningItem },
  { type: 'response.output_item.added', output_index: 1, item: { ...message(''), content: [] } },
  { type: 'response.output_text.delta', output_index: 1, delta: 'Grüße \ud83d' },
  { type: 'response.output_text.delta', output_index: 1, delta: '\udc4b' },
  { type: 'response.output_item.done', output_index: 1, item: message('Grüße 👋') },
  { type: 'response.output_item.added', output_index: 2, item: { ...call, arguments: '' } },
  { type: 'response.function_call_arguments.delta', output_index: 2, delta: '{"a"' },
  { type: 'response.function_call_arguments.delta', output_index: 2, delta: ':1}' },
  { type: 'response.output_item.done', output_index: 2, item: call },
  endEvent({ output: [reasoningItem, message('Grüße 👋'), call] }),
]
const parts = [
  { type: 'reasoning', text: 'One\n\nTwo', redacted: 'gAAA', format: 'openai-responses-v1', id: 'rs_1' },
  { type: 'text', text: 'Grüße 👋' },
  { type: 'tool_call', id: 'call_1', name: 'f', arguments: '{"a":1}' },
]

test('reasoning, text, and a call read the same wherever the bytes are cut, with disjoint usage', () => {
  const whole = readEvents(...stream)
  const answer = fold(whole)
  assert.deepEqual(answer.content, parts)
  assert.deepEqual(
    answer.usage,
    usageOf({
      input_tokens: 30,
      cache_read_tokens: 60,
      cache_write_5m_tokens: 10,
      output_tokens: 18,
      reasoning_tokens: 12,
    }),
  )
  assert.deepEqual([answer.finish?.reason, answer.finish?.native], ['tool_calls', 'completed'])
  fc.assert(
    fc.property(cuts, (lengths) => assert.deepEqual(readCut(new StreamReader(), wire(stream), lengths), whole)),
    { numRuns: 40 },
  )
})

test('a provider that sends only completed items, only deltas, or only the end loses nothing', () => {
  const completedEvents = stream.filter(({ type }) => /done|created|completed/.test(String(type)))
  const deltas = stream.filter(({ type }) => !/done/.test(String(type)))
  const end = [endEvent({ output: [reasoningItem, message('Grüße 👋'), call] })]
  for (const events of [completedEvents, deltas, end]) assert.deepEqual(fold(readEvents(...events)).content, parts)
  assert.deepEqual(fold(readAnswer(end[0]!.response)).content, parts)
  const bare = readEvents({ type: 'response.output_text.delta', output_index: 0, delta: 'Hi' }, endEvent())
  assert.deepEqual(fold(bare).content, [{ type: 'text', text: 'Hi' }])
})

test('calls with the same ID twice, with none, and without arguments are kept apart and are JSON', () => {
  const twice = [call, { ...call, id: 'fc_2' }, { ...call, id: '', call_id: '', arguments: '' }]
  const { content } = fold(readEvents(endEvent({ output: twice })))
  const calls = content.flatMap((part) => (part.type === 'tool_call' ? [part] : []))
  assert.equal(new Set(calls.map(({ id }) => id)).size, 3)
  assert.deepEqual(
    calls.map((one) => one.arguments),
    ['{"a":1}', '{"a":1}', '{}'],
  )
  const free = { type: 'custom_tool_call', call_id: 'c', name: 'patch', input: 'a "b"' }
  assert.deepEqual(fold(readEvents(endEvent({ output: [free] }))).content, [
    { type: 'tool_call', id: 'c', name: 'patch', arguments: '{"input":"a \\"b\\""}' },
  ])
})

test('a truncation is reported; a failure or lost connection is an error, and nothing follows it', () => {
  const reason = (...events: Json[]) => fold(readEvents(...events)).finish?.reason
  assert.equal(reason(endEvent({ incomplete_details: { reason: 'max_output_tokens' } }, 'incomplete')), 'length')
  assert.equal(reason(endEvent({ incomplete_details: { reason: 'content_filter' } }, 'incomplete')), 'content_filter')
  const refusalItem = { type: 'message', content: [{ type: 'refusal', refusal: 'No.' }] }
  assert.equal(reason(endEvent({ output: [refusalItem] })), 'content_filter')
  const error = (...events: Json[]) => {
    const chunks = readEvents(...events)
    assert.equal(chunks.at(-1)?.type, 'error')
    assert.equal(chunks.filter(({ type }) => type === 'error' || type === 'finish').length, 1)
    return fold(chunks).error?.kind
  }
  const failedEvent = endEvent({ error: { code: 'rate_limit_exceeded', message: 'slow' } }, 'failed')
  assert.equal(error(createdEvent, failedEvent), 'rate_limited')
  assert.equal(
    error(createdEvent, { type: 'error', code: 'server_error', message: 'burst' }, endEvent()),
    'server_error',
  )
  assert.equal(
    error({ type: 'error', error: { type: 'invalid_request_error', code: 'context_length_exceeded', message: 'x' } }),
    'context_length',
  )
  assert.equal(error(createdEvent), 'garbage')
  assert.equal(error(), 'garbage')
  assert.equal(fold(readAll(new StreamReader(), Buffer.from('data: {oops\n\n'))).error?.kind, 'garbage')
  assert.equal(fold(readAnswer({ error: { message: 'x', code: 429 } })).error?.kind, 'rate_limited')
  assert.equal(fold(readAnswer('x')).error?.kind, 'garbage')
})

test('the cause of a failed or canceled response is reported wherever it appears, streamed and whole', () => {
  const refusalItem = { type: 'message', content: [{ type: 'refusal', refusal: 'I can’t help with that.' }] }
  const causes: [cause: Json, message: RegExp, kind: string][] = [
    [{ error: { code: 'server_error', message: 'It burst.' } }, /^It burst\.$/, 'server_error'],
    [{ last_error: { code: 'rate_limit_exceeded', message: 'Slow down.' } }, /^Slow down\.$/, 'rate_limited'],
    [{ error: null, last_error: 'It burst.' }, /^It burst\.$/, 'server_error'],
    [{ status_details: { error: { message: 'It burst.' } } }, /^It burst\.$/, 'server_error'],
    [{ error: null, incomplete_details: { reason: 'content_filter' } }, /: content_filter\.$/, 'bad_request'],
    [{ error: null, output: [refusalItem] }, /^I can’t help with that\.$/, 'bad_request'],
  ]
  for (const status of ['failed', 'cancelled', 'canceled']) {
    for (const [cause, words, kind] of causes) {
      const response = { id: 'resp_1', model: 'm', output: [], usage, error: null, ...cause }
      const answers = [
        readEvents(createdEvent, { type: `response.${status}`, response: { ...response, status } }),
        readEvents(createdEvent, { type: `response.${status}`, response }),
        readAnswer({ ...response, status }),
      ]
      for (const chunks of answers) {
        const { error, usage } = fold(chunks)
        assert.match(error?.message ?? '', words, JSON.stringify([status, cause]))
        assert.equal(error?.kind, kind, JSON.stringify([status, cause]))
        assert.equal(usage?.total_tokens, 130)
      }
      const event = { type: `response.${status}`, response }
      const passthrough = openaiResponses.readStream('', `data: ${JSON.stringify(event)}\n\n`)
      assert.match(passthrough.fault?.message ?? '', words, status)
    }
    const alone = { type: `response.${status}`, response: { id: 'resp_1', model: 'm', output: [], error: null } }
    assert.match(
      fold(readEvents(createdEvent, alone)).error?.message ?? '',
      /^The provider (?:failed|canceled)/,
      status,
    )
    const later = { type: 'error', error: { code: 'x', message: 'It came later.' } }
    assert.equal(fold(readEvents(createdEvent, alone, later)).error?.message, 'It came later.', status)
  }
})
