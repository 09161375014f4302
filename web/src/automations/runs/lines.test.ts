import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RunEvent } from '../../chats/queries.ts'
import { emptyLog, logged } from './lines.ts'

const at = '2026-11-23T09:00:00.000Z'
/** Events as the server tells them, with what the log reads of them. */
const told = (...events: [string, object][]): RunEvent[] =>
  // Whole runs and messages would say nothing more here.
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

test('a run is read line by line: what is written grows where it began', () => {
  const log = logged(emptyLog, events)
  assert.deepEqual(
    log.lines.map(({ kind, text }) => `${kind}: ${text}`),
    [
      'state: Begun with sim/echo',
      'reasoning: hm',
      'text: One two',
      'tool: web_fetch {"url":1}',
      'result: {\n  "a": 1\n}',
      'error: Too long.',
    ],
  )
  assert.equal(log.ended, true)
})

test('in pieces, and told twice, it is the same log', () => {
  const whole = logged(emptyLog, events)
  let log = emptyLog
  for (const event of events) log = logged(logged(log, [event]), events.slice(0, 3))
  assert.deepEqual(log, whole)
})
