import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nextAttempt } from './retries.ts'

test('eleven retries with growing delays span a day', () => {
  const waits = Array.from({ length: 12 }, (_, i) => nextAttempt(i + 1, undefined, 0))
  assert.deepEqual(waits.slice(0, 3), [5, 30, 120])
  assert.equal(waits[11], null)
  const hours = waits.slice(0, 11).reduce<number>((sum, wait) => sum + wait!, 0) / 3_600
  assert.ok(hours > 23 && hours < 25, `${hours} h`)
})

test('Retry-After is respected within limits', () => {
  assert.equal(nextAttempt(1, '90', 0), 90)
  assert.equal(nextAttempt(1, '2', 0), 5)
  assert.ok(nextAttempt(1, '999999', 0)! <= 9.6 * 3_600)
  assert.equal(nextAttempt(1, 'Wed, 21 Oct 2026 07:28:00 GMT', 0), 5)
})
