import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { createBatches } from './batches.ts'

function createRecorder(pace?: Parameters<typeof createBatches>[2]) {
  const batches: string[] = []
  const ask = createBatches(
    3,
    async (items: string[]) => {
      batches.push(items.join(''))
      await setImmediate()
      return items
    },
    pace,
  )
  return { batches, ask }
}

test('requests during a batch join the next one, and batches have a maximum size', async () => {
  const { batches, ask } = createRecorder()
  const first = ask('a')
  await setImmediate()
  assert.deepEqual(await Promise.all([first, ...['b', 'c', 'd', 'e'].map(ask)]), ['a', 'b', 'c', 'd', 'e'])
  assert.deepEqual(batches, ['a', 'bcd', 'e'])
})

test('an error fails only the callers of its batch', async () => {
  const ask = createBatches(2, async (items: number[]) => {
    if (items.includes(1)) throw new Error('the first')
    return items
  })
  const all = await Promise.allSettled([ask(1), ask(2), ask(3)])
  assert.deepEqual(
    all.map(({ status }) => status),
    ['rejected', 'rejected', 'fulfilled'],
  )
})

test('after a shared batch the next one waits for more callers, and after a single call it doesn’t', async () => {
  const { batches, ask } = createRecorder({ company: 2, apartMs: 20 })
  await Promise.all([ask('a'), ask('b')])
  const third = ask('c')
  for (let turns = 0; turns < 3; turns++) await setImmediate()
  await Promise.all([third, ask('d')])
  assert.deepEqual(batches, ['ab', 'cd'])

  const alone = createRecorder({ company: 2, apartMs: 3_600_000 })
  for (const item of ['a', 'b', 'c']) await alone.ask(item)
  assert.deepEqual(alone.batches, ['a', 'b', 'c'])
})
