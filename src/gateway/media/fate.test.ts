import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { pollDelayMs } from './fate.ts'

const kind = fc.constantFrom('image', 'video', 'speech', 'transcription', 'simulated')
const round = fc.nat(100)
const chance = fc.double({ min: 0, max: 1, noNaN: true })

test('a job is never polled before the time that its vendor requests, up to an hour', () => {
  fc.assert(
    fc.property(kind, round, chance, fc.double({ min: 0, max: 1e9, noNaN: true }), (of, at, luck, seconds) => {
      const delay = pollDelayMs(of, at, seconds, luck)
      assert.ok(delay >= Math.min(seconds, 3_600) * 1000, `${delay} ms for ${seconds} s`)
      assert.ok(delay <= Math.max(1, Math.min(seconds, 3_600)) * 1200)
    }),
  )
})

test('polls of jobs that started together are spread if the vendor requests no time', () => {
  fc.assert(
    fc.property(kind, round, (of, at) => {
      const [first, last] = [pollDelayMs(of, at, null, 0), pollDelayMs(of, at, null, 1)]
      assert.ok(first > 0 && Math.abs(last - first * 1.5) < 1)
    }),
  )
})
