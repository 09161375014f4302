import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nextPiece } from './slices.ts'

test('one piece of long work starts per event-loop turn, alternating between accounts', async () => {
  const starts: string[] = []
  const work = async (account: string, pieces: number): Promise<void> => {
    for (let n = 0; n < pieces; n++) {
      await nextPiece(account)
      starts.push(account)
    }
  }
  const all = Promise.all([...Array.from({ length: 30 }, () => work('many', 3)), work('one', 3)])
  let most = 0
  for (let before = 0; before < 93; before = starts.length) {
    await new Promise(setImmediate)
    most = Math.max(most, starts.length - before)
  }
  await all
  assert.equal(most, 1)
  const places = starts.flatMap((account, at) => (account === 'one' ? [at] : []))
  assert.ok(places.at(-1)! < 8, `30 others of one account stand before: ${places.join()}`)
})
