import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fuzzAccess } from './access-fuzz.ts'

test('100,000 answers, and none shows more than its asker may list', async () => {
  let checked = 0
  for (let seed = 1; checked < 100_000; seed++) checked += await fuzzAccess(5_000, seed)
  assert.ok(checked >= 100_000)
})
