import assert from 'node:assert/strict'
import { test } from 'node:test'
import { killUnderLoad } from './kills.ts'

test('every call that reached a provider is in a balanced ledger after two servers are killed 20 times', async (t) => {
  const found = await killUnderLoad(20)
  t.diagnostic(JSON.stringify(found))
  assert.ok(found.arrived > 20 * found.kills)
})
