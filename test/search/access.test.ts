// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fuzzAccess } from './access-fuzz.ts'

test('search never returns what the caller can’t list, through shares, moves, trashing and revoked access', async () => {
  assert.ok((await fuzzAccess(120, 1)) >= 120)
})
