// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { raceCap, shareUsed } from './cap-race.ts'

test('60 clients on two processes spend between 98% and 100% of one cap through every entry point', async () => {
  const race = await raceCap(60, 0.06)
  assert.ok(shareUsed(race) >= 0.98, `${shareUsed(race)} of the cap was used`)
})
