import assert from 'node:assert/strict'
import { test } from 'node:test'
import { raceCap, shareUsed } from './cap-race.ts'

test('1,000 clients on two processes spend between 98% and 100% of one cap through every entry point', async (t) => {
  const raced = await raceCap(1_000, 0.6)
  const { calls, refused, milliseconds } = raced
  t.diagnostic(`${calls} calls, ${refused} refused, ${milliseconds} ms, ${100 * shareUsed(raced)} % of the cap`)
  assert.ok(shareUsed(raced) >= 0.98, `${shareUsed(raced)} of the cap was used`)
})
