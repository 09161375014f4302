import assert from 'node:assert/strict'
import { test } from 'node:test'
import { raceCap, shareUsed } from './cap-race.ts'

test('1,000 clients on two processes spend between 98% and 100% of one cap through every entry point', async (t) => {
  const race = await raceCap(1_000, 0.6)
  const { calls, refused: refusals, milliseconds } = race
  t.diagnostic(`${calls} calls, ${refusals} refused, ${milliseconds} ms, ${100 * shareUsed(race)} % of the cap`)
  assert.ok(shareUsed(race) >= 0.98, `${shareUsed(race)} of the cap was used`)
})
