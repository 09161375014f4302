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

test('results stand in the order of their calls; of two for one call the first is it, and the other is told', () => {
  const paired = pairToolResults([
    { role: 'assistant', content: [call('a'), call('b')] },
    { role: 'tool', content: [result('b'), result('a'), result('b', 'again')] },
  ])
  assert.deepEqual(paired.slice(1), [
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

test('many calls with their results in reverse are paired soon', () => {
  const ids = Array.from({ length: 200_000 }, (_, i) => `call_${i}`)
  // Of this process alone: a busy machine makes it no slower. Looking for each among all would take minutes.
  const from = process.cpuUsage()
  const paired = pairToolResults([
    { role: 'assistant', content: ids.map(call) },
    { role: 'tool', content: ids.toReversed().map((id) => result(id)) },
  ])
  const { user } = process.cpuUsage(from)
  assert.equal(paired.length, 2)
  assert.ok(user < 10_000_000, `${user} µs`)
})
