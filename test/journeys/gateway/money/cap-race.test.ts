// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { raceCap, shareUsed } from './cap-race.ts'

test('60 clients at two processes spend one cap over every route: never beyond it, and at least 98 % of it', async () => {
  const race = await raceCap(60, 0.06)
  assert.ok(shareUsed(race) >= 0.98, `${shareUsed(race)} of the cap was used`)
})
