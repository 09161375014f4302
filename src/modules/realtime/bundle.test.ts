import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EventBatch } from '#core/answers.ts'
import { Bundle } from './bundle.ts'
import { eventFrame } from './frames.ts'

test('readers with the same frames share bytes, and others get their own in order', () => {
  const [a, b, c] = ['a', 'b', 'c'].map((event) => eventFrame(event, null)) as [EventBatch, EventBatch, EventBatch]
  const begin = new Bundle()
  const first = begin.add(a).add(b).add(c)
  const second = begin.add(a).add(b).add(c)
  const third = begin.add(a).add(c)
  assert.equal(first.bytes, second.bytes)
  assert.equal(first.bytes.toString(), [a, b, c].map(({ bytes }) => String(bytes)).join(''))
  assert.equal(third.bytes.toString(), [a, c].map(({ bytes }) => String(bytes)).join(''))
  assert.deepEqual(
    [first, third].map((one) => one.events().map(({ event }) => event)),
    [
      ['a', 'b', 'c'],
      ['a', 'c'],
    ],
  )
})
