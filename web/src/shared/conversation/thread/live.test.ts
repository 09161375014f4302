import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Message, Run, RunEvent } from '../queries.ts'
import { nothingYet, tell } from './live.ts'

const at = '2026-11-23T00:00:00.000Z'
const message = { id: 'm', role: 'assistant', status: 'in_progress', content: [], parent_id: 'q' } as unknown as Message
const run = { id: 'r', status: 'running' } as unknown as Run
let seq = 0
// Only the relevant fields of each event.
const event = (name: RunEvent['event'], data: object): RunEvent =>
  ({ event: name, data: { seq: ++seq, run_id: 'r', at, ...data } }) as unknown as RunEvent

test('text, tool calls and results become message parts, however the events are split', () => {
  seq = 0
  const events = [
    event('run.started', { run }),
    event('message.started', { message }),
    event('reasoning.delta', { message_id: 'm', index: 0, delta: 'I ' }),
    event('reasoning.delta', { message_id: 'm', index: 0, delta: 'think' }),
    event('text.delta', { message_id: 'm', index: 1, delta: 'May I?' }),
    event('tool_call.started', { tool_call_id: 'c', name: 'look' }),
    event('tool_call.delta', { tool_call_id: 'c', delta: '{"a"' }),
    event('tool_call.completed', { tool_call_id: 'c', name: 'look', arguments: '{"a":1}' }),
    event('run.requires_action', { run: { ...run, status: 'requires_action' } }),
    event('tool_result', { tool_call_id: 'c', output: 'seen', is_error: false }),
    event('text.delta', { message_id: 'm', index: 4, delta: 'Thanks' }),
  ]
  const content = [
    { type: 'reasoning', text: 'I think', opaque: null },
    { type: 'text', text: 'May I?' },
    { type: 'tool_call', id: 'c', name: 'look', arguments: '{"a":1}' },
    { type: 'tool_result', tool_call_id: 'c', output: 'seen', is_error: false },
    { type: 'text', text: 'Thanks' },
  ]
  const whole = tell(nothingYet, events)
  assert.deepEqual(whole.messages.get('m')!.content, content)
  assert.equal(whole.run!.status, 'requires_action')
  const byOne = events.reduce((live, one) => tell(live, [one]), nothingYet)
  assert.deepEqual(byOne, whole)
  // After a reconnect, some events can repeat.
  assert.deepEqual(tell(whole, events), whole)
})

test('the final message replaces its streamed parts', () => {
  seq = 0
  const done = { ...message, status: 'completed', content: [{ type: 'text', text: 'all' }] } as Message
  const live = tell(nothingYet, [
    event('message.started', { message }),
    event('text.delta', { message_id: 'm', index: 0, delta: 'al' }),
    event('message.completed', { message: done }),
    event('run.completed', { run: { ...run, status: 'completed' } }),
  ])
  assert.deepEqual(live.messages.get('m'), done)
  assert.equal(live.run!.status, 'completed')
})
