import assert from 'node:assert/strict'
import { test } from 'node:test'
import { usageOf } from '#core/usage.ts'
import * as fc from 'fast-check'
import { collect, textOfAnswer } from '../model/answer.ts'
import { inSteps } from './chunk-step.ts'
import { StopSequences } from './stop-sequences.ts'
import type { Chunk } from '../model/canonical-request.ts'

async function* from(chunks: readonly Chunk[]): AsyncGenerator<Chunk, void, undefined> {
  yield* chunks
}
const stopAt = (chunks: readonly Chunk[], words: readonly string[]): AsyncIterable<Chunk> =>
  inSteps(from(chunks), [new StopSequences(words)])
const usageChunk: Chunk = { type: 'usage', usage: usageOf({ output_tokens: 9 }) }
const finish: Chunk = { type: 'finish', reason: 'length', native: 'length' }

test('an answer ends before the first stop sequence, however it is cut, and its usage is complete', async () => {
  const letters = fc.array(fc.stringMatching(/^[abc]{0,5}$/), { maxLength: 12 })
  const words = fc.array(fc.stringMatching(/^[abc]{1,4}$/), { minLength: 1, maxLength: 3 })
  await fc.assert(
    fc.asyncProperty(letters, words, async (pieces, stops) => {
      const chunks = pieces.map((text): Chunk => ({ type: 'text', text }))
      const answer = await collect(stopAt([...chunks, usageChunk, finish], stops))
      const text = pieces.join('')
      const ends = stops.flatMap((word) => (text.includes(word) ? [text.indexOf(word) + word.length] : []))
      const end = Math.min(...ends)
      const isStopped = end !== Infinity
      const before = text.slice(0, end)
      const at = end - Math.max(0, ...stops.filter((word) => before.endsWith(word)).map(({ length }) => length))
      assert.equal(textOfAnswer(answer), isStopped ? text.slice(0, at) : text)
      assert.equal(answer.finish?.reason, isStopped ? 'stop' : 'length')
      const stopSequence = answer.finish?.stop_sequence ?? null
      assert.ok(isStopped ? stopSequence !== null && text.startsWith(stopSequence, at) : stopSequence === null)
      assert.equal(answer.usage?.output_tokens, 9)
    }),
  )
})

test('calls that started before a stop sequence end, later ones are dropped; a fault after it is ignored', async () => {
  const call = (id: string): Chunk[] => [
    { type: 'tool_call_start', id, name: 'look' },
    { type: 'tool_call_delta', id, delta: '{}' },
  ]
  const chunks: Chunk[] = [
    ...call('one'),
    { type: 'text', text: 'so. ST' },
    { type: 'text', text: 'OP and' },
    { type: 'tool_call_end', id: 'one' },
    ...call('two'),
    { type: 'error', error: { kind: 'garbage', message: 'broke off' } },
  ]
  const { content, finish: end, error } = await collect(stopAt(chunks, ['STOP']))
  assert.deepEqual(content, [
    { type: 'tool_call', id: 'one', name: 'look', arguments: '{}' },
    { type: 'text', text: 'so. ' },
  ])
  assert.deepEqual([end?.stop_sequence, error], ['STOP', null])
})
