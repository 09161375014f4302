import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RunEvent } from '../conversation/queries.ts'
import { emptyLog, logged } from './lines.ts'

const at = '2026-11-23T09:00:00.000Z'
/** Events as the server sends them, with the fields that the log reads. */
const told = (...events: [string, object][]): RunEvent[] =>
  // The log doesn't read the other fields of runs and messages.
  events.map(([event, data], i) => ({ event, data: { seq: i + 1, at, run_id: 'R', ...data } })) as unknown as RunEvent[]

const events = told(
  ['run.started', { run: { model: 'sim/echo', attempt: 1 } }],
  ['reasoning.delta', { message_id: 'M', index: 0, delta: 'hm' }],
  ['text.delta', { message_id: 'M', index: 1, delta: 'One ' }],
  ['tool_call.started', { tool_call_id: 'T', name: 'web_fetch' }],
  ['tool_call.delta', { tool_call_id: 'T', delta: '{"url":1}' }],
  ['text.delta', { message_id: 'M', index: 1, delta: 'two' }],
  ['tool_result', { tool_call_id: 'T', output: { a: 1 }, is_error: false }],
  ['run.failed', { run: {}, error: { type: 'timeout', message: 'Too long.' } }],
)

test('run events become log lines, and streamed text extends its line', () => {
  const log = logged(emptyLog, events)
  assert.deepEqual(
    log.lines.map(({ kind, text }) => `${kind}: ${text}`),
    [
      'state: Started with sim/echo',
      'reasoning: hm',
      'text: One two',
      'tool: web_fetch {"url":1}',
      'result: {\n  "a": 1\n}',
      'error: Too long.',
    ],
  )
  assert.equal(log.ended, true)
})

test('batches and repeated events produce the same log', () => {
  const whole = logged(emptyLog, events)
  let log = emptyLog
  for (const event of events) log = logged(logged(log, [event]), events.slice(0, 3))
  assert.deepEqual(log, whole)
})
