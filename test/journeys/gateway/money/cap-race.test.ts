// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { raceCap, shareUsed } from './cap-race.ts'

test('60 clients at two processes spend one cap through every way in: never beyond it, and at least 98 % of it', async () => {
  const raced = await raceCap(60, 0.06)
  assert.ok(shareUsed(raced) >= 0.98, `${shareUsed(raced)} of the cap was used`)
})
