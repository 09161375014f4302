import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dayOf, timeOf } from './times.ts'

const now = new Date('2026-11-21T12:00:00.000Z')
const here = (...parts: [number, number, number, number?, number?]) => new Date(...parts).toISOString()

test('a time is a duration ahead for ends and back elsewhere, a local day or time, or ISO 8601', () => {
  const cases: [words: string, name: string, time: string | null][] = [
    ['7d', 'expires_at', '2026-11-28T12:00:00.000Z'],
    ['-90s', 'expires_at', '2026-11-21T11:58:30.000Z'],
    ['1h30m', 'since', '2026-11-21T10:30:00.000Z'],
    ['+2w', 'since', '2026-12-05T12:00:00.000Z'],
    ['2026-12-24', 'expires_at', here(2026, 11, 24)],
    ['2026-12-24T18:05', 'since', here(2026, 11, 24, 18, 5)],
    ['2026-12-24 18:05', 'since', here(2026, 11, 24, 18, 5)],
    ['2026-12-24T18:00:00.123Z', 'since', '2026-12-24T18:00:00.123Z'],
    ['2026-12-24T18:00:00+01:00', 'since', '2026-12-24T17:00:00.000Z'],
  ]
  for (const [words, name, time] of cases) assert.equal(timeOf(words, name, now), time, words)
  for (const words of ['', 'soon', '7', 'd', '2026-02-31', '2026-13-01', '2026-12-24T25:61Z', `${'9'.repeat(400)}w`])
    assert.equal(timeOf(words, 'expires_at', now), null, words)
})

test('a day is a duration ago, a word, or a date', () => {
  const cases: [words: string, day: string | null][] = [
    ['7d', '2026-11-14'],
    ['13h', '2026-11-20'],
    ['today', '2026-11-21'],
    ['yesterday', '2026-11-20'],
    ['2026-12-24', '2026-12-24'],
    ['soon', null],
    ['24.12.2026', null],
  ]
  for (const [words, day] of cases) assert.equal(dayOf(words, now), day, words)
})
