import assert from 'node:assert/strict'
import { test } from 'node:test'
import { killUnderLoad } from './kills.ts'

test('two servers are killed 20 times under load: every call that reached the vendor is in the books, and they add up', async (t) => {
  const found = await killUnderLoad(20)
  t.diagnostic(JSON.stringify(found))
  assert.ok(found.arrived > 20 * found.kills)
})
