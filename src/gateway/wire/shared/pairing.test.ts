import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CanonicalPart } from '../../model/canonical-request.ts'
import { pairToolResults } from './pairing.ts'

const call = (id: string): CanonicalPart => ({ type: 'tool_call', id, name: 'look', arguments: '{}' })
const result = (id: string, text = id): CanonicalPart => ({
  type: 'tool_result',
  id,
  content: [{ type: 'text', text }],
  is_error: false,
})

test('results follow the order of their calls; a second result for the same call is reported', () => {
  const messages = pairToolResults([
    { role: 'assistant', content: [call('a'), call('b')] },
    { role: 'tool', content: [result('b'), result('a'), result('b', 'again')] },
  ])
  assert.deepEqual(messages.slice(1), [
    { role: 'tool', content: [result('a'), result('b')] },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Result of the earlier tool call b:' },
        { type: 'text', text: 'again' },
      ],
    },
  ])
})

test('pairing many calls with results in reverse order is fast', () => {
  const ids = Array.from({ length: 200_000 }, (_, i) => `call_${i}`)
  // CPU time of this process, so that a busy machine doesn't fail the test. A quadratic search would take minutes.
  const from = process.cpuUsage()
  const messages = pairToolResults([
    { role: 'assistant', content: ids.map(call) },
    { role: 'tool', content: ids.toReversed().map((id) => result(id)) },
  ])
  const { user } = process.cpuUsage(from)
  assert.equal(messages.length, 2)
  assert.ok(user < 10_000_000, `${user} µs`)
})
