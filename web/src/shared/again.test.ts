import assert from 'node:assert/strict'
import { test } from 'node:test'
import { waitBefore } from './again.ts'

test('the delay before a lost stream reconnects doubles each time, up to 30 s, with jitter', () => {
  assert.deepEqual(
    [0, 1, 2, 3].map((failed) => waitBefore(failed, 1)),
    [1_000, 2_000, 4_000, 8_000],
  )
  assert.equal(waitBefore(2, 0), 2_000)
  assert.equal(waitBefore(40, 1), 30_000)
  const many = new Set(Array.from({ length: 50 }, () => Math.round(waitBefore(4))))
  assert.ok(many.size > 25)
})
