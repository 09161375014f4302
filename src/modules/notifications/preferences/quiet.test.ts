import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dueAt, isQuiet, nextAt } from './quiet.ts'

const night = { start: '22:00', end: '07:00', time_zone: 'Europe/Berlin' }
const at = (words: string): Date => new Date(words)

test('quiet hours may span midnight in their time zone', () => {
  assert.equal(isQuiet(night, 'UTC', at('2026-11-21T20:59:00Z')), false)
  assert.equal(isQuiet(night, 'UTC', at('2026-11-21T21:00:00Z')), true)
  assert.equal(isQuiet(night, 'UTC', at('2026-11-22T05:59:00Z')), true)
  assert.equal(isQuiet(night, 'UTC', at('2026-11-22T06:00:00Z')), false)
  assert.equal(isQuiet({ ...night, time_zone: null }, 'Asia/Tokyo', at('2026-11-21T13:00:00Z')), true)
  assert.equal(isQuiet({ start: '12:00', end: '14:00', time_zone: 'UTC' }, 'UTC', at('2026-11-21T13:59:59Z')), true)
  assert.equal(isQuiet({ start: '12:00', end: '12:00', time_zone: 'UTC' }, 'UTC', at('2026-11-21T12:00:00Z')), false)
  assert.equal(isQuiet(null, 'UTC', at('2026-11-21T12:00:00Z')), false)
})

test('delayed notifications are sent at the end of quiet hours, even on a night shortened by DST', () => {
  const plain = { zone: 'UTC', digest: 'none', digestAt: '08:00' } as const
  assert.equal(
    dueAt(at('2026-03-28T22:00:00Z'), { ...plain, quietHours: night }).toISOString(),
    '2026-03-29T05:00:00.000Z',
  )
  assert.equal(
    dueAt(at('2026-03-27T22:00:00Z'), { ...plain, quietHours: night }).toISOString(),
    '2026-03-28T06:00:00.000Z',
  )
  const now = at('2026-11-21T12:34:56.789Z')
  assert.equal(dueAt(now, { ...plain, quietHours: night }), now)
  // A time that this day does not have: clocks go from two to three.
  assert.equal(nextAt('02:30', 'Europe/Berlin', at('2026-03-28T23:30:00Z')).toISOString().slice(0, 10), '2026-03-29')
})

test('digests are sent on the hour or at their time of day, and not in quiet hours', () => {
  const of = (digest: 'hourly' | 'daily', quietHours: typeof night | null) => ({
    zone: 'Europe/Berlin',
    quietHours,
    digest,
    digestAt: '06:30',
  })
  const now = at('2026-11-21T12:34:56Z')
  assert.equal(dueAt(now, of('hourly', null)).toISOString(), '2026-11-21T13:00:00.000Z')
  assert.equal(dueAt(now, of('daily', null)).toISOString(), '2026-11-22T05:30:00.000Z')
  assert.equal(dueAt(now, of('daily', night)).toISOString(), '2026-11-22T06:00:00.000Z')
})
