import assert from 'node:assert/strict'
import { test } from 'node:test'
import { leftWords, rateMeter } from './rate.ts'

test('the rate follows recent progress and resets when an upload goes back', () => {
  const rate = rateMeter()
  assert.equal(rate(0, 0), null)
  assert.equal(rate(100, 50), null)
  assert.equal(rate(1_000, 1_000), 1_000)
  assert.equal(rate(2_000, 3_000), 1_300)
  assert.equal(rate(3_000, 500), 1_300)
  assert.equal(rate(4_000, 1_500), 1_210)
})

test('the remaining time is shown in seconds, minutes or hours', () => {
  assert.deepEqual(
    [leftWords(500, null), leftWords(500, 100), leftWords(60_000, 100), leftWords(540_000, 100)],
    [null, '5 s left', '10 min left', '1.5 h left'],
  )
})
