// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { killUnderLoad } from './kills.ts'

test('each of two servers is killed under load: every call that reached the vendor is in the books, and they add up', async () => {
  const { arrived, kills } = await killUnderLoad(2)
  assert.ok(arrived > 20 * kills)
})
