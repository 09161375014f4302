// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fuzzAccess } from './access-fuzz.ts'

test('nobody finds what they may not list, whatever is shared, moved, trashed or taken away', async () => {
  assert.ok((await fuzzAccess(120, 1)) >= 120)
})
