import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fuzzAccess } from './access-fuzz.ts'

test('100,000 search responses never show more than their caller can list', async () => {
  let checked = 0
  for (let seed = 1; checked < 100_000; seed++) checked += await fuzzAccess(5_000, seed)
  assert.ok(checked >= 100_000)
})
