import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Wall, WalkedZone, patternOf } from '#test/automations/wall-clock.ts'
import { scheduleOf } from './schedule.ts'
import { dueTicks } from './ticks.ts'

const at = (words: string): Date => new Date(words)
const from = (pattern: string, zone: string, start: string, n: number): string[] => {
  const schedule = scheduleOf(pattern, zone)
  const all: string[] = []
  for (let next = schedule.next(at(start)); next !== null && all.length < n; next = schedule.next(next))
    all.push(next.toISOString())
  return all
}

test('a skipped local time fires after the clock change, and a repeated one fires once', () => {
  assert.deepEqual(from('30 1 * * *', 'Europe/London', '2027-03-27T12:00:00Z', 2), [
    '2027-03-28T01:00:00.000Z',
    '2027-03-29T00:30:00.000Z',
  ])
  assert.deepEqual(from('30 1 * * *', 'Europe/London', '2027-10-30T12:00:00Z', 2), [
    '2027-10-31T00:30:00.000Z',
    '2027-11-01T01:30:00.000Z',
  ])
})

const walls: Wall[] = [
  { minutes: [15], hours: [2], weekdays: null },
  { minutes: [0], hours: [0], weekdays: null },
  { minutes: [30], hours: [1, 2, 3], weekdays: [0] },
  { minutes: [10, 40], hours: [0, 1, 2, 3], weekdays: null },
  { minutes: [0], hours: [0, 6, 12, 18], weekdays: [1, 2, 3, 4, 5] },
  { minutes: [0, 30], hours: null, weekdays: null },
  { minutes: [7], hours: null, weekdays: null },
]

test('around clock changes in both hemispheres, ticks match a minute-by-minute search', () => {
  const changes: Record<string, string[]> = {
    'Europe/Berlin': ['2027-03-28', '2027-10-31'],
    'America/New_York': ['2027-03-14', '2027-11-07'],
    'America/Santiago': ['2027-04-04', '2027-09-05'],
    'Australia/Sydney': ['2027-04-04', '2027-10-03'],
    'Australia/Lord_Howe': ['2027-04-04', '2027-10-03'],
    'Pacific/Chatham': ['2027-04-04', '2027-09-26'],
    'Africa/Cairo': ['2027-04-30', '2027-10-29'],
    'Antarctica/Troll': ['2027-03-28', '2027-10-31'],
    'Asia/Kathmandu': ['2027-06-01'],
  }
  for (const [name, days] of Object.entries(changes))
    for (const wall of walls)
      for (const day of days) {
        const [start, end] = [Date.parse(day) - 2 * 86_400_000, Date.parse(day) + 3 * 86_400_000]
        const schedule = scheduleOf(patternOf(wall), name)
        const actualTicks: string[] = []
        for (let next = schedule.next(new Date(start)); next && next.getTime() <= end; next = schedule.next(next))
          actualTicks.push(next.toISOString())
        const expected = new WalkedZone(name).ticks(wall, start, end).map((ms) => new Date(ms).toISOString())
        assert.deepEqual(actualTicks, expected, `${patternOf(wall)} in ${name} around ${day}`)
      }
})

test('invalid schedules, schedules that never fire and unknown time zones are refused with their field', () => {
  const refusedField = (pattern: string, zone = 'UTC') => {
    try {
      scheduleOf(pattern, zone)
    } catch (error) {
      return (error as { code: string }).code
    }
    return null
  }
  for (const pattern of ['', '* * * *', '61 * * * *', 'every day', '0 0 31 2 *', '* * * * * * *', '0 0 1 1 * 2020'])
    assert.equal(refusedField(pattern), 'invalid_cron', pattern)
  for (const zone of ['', 'Mars/Olympus', 'UTC\0', '../etc'])
    assert.equal(refusedField('* * * * *', zone), 'invalid_time_zone', zone)
  assert.equal(refusedField('*/5 9-17 * * 1-5', 'America/New_York'), null)
  assert.equal(refusedField('0 */2 * * * *'), null)
})

test('over months with downtime, clock changes and any policy, every tick runs or is reported as missed exactly once', () => {
  const zones = ['UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Pacific/Chatham']
  const patterns = ['*/30 * * * *', '15 2 * * *', '0 0 1 * *', '30 1,2,3 * * 0', '0 */6 * * 1-5', '59 23 28-31 * *']
  fc.assert(
    fc.property(
      fc.constantFrom(...zones),
      fc.constantFrom(...patterns),
      fc.constantFrom('none', 'latest', 'all'),
      fc.integer({ min: 0, max: 400_000 }),
      fc.integer({ min: 1, max: 40 }),
      // Minutes until the next look: usually none, sometimes hours or weeks, sometimes negative (clock set back).
      fc.array(
        fc.oneof(
          fc.integer({ min: 1, max: 3 }),
          fc.integer({ min: -90, max: 600 }),
          fc.integer({ min: 600, max: 40_000 }),
        ),
        { maxLength: 40 },
      ),
      (zone, pattern, policy, windowSeconds, most, looks) => {
        const schedule = scheduleOf(pattern, zone)
        const start = at('2027-03-01T00:00:00Z')
        let next = schedule.next(start)
        let now = start.getTime()
        let furthest = now
        const actualTicks: string[] = []
        for (const minutes of looks) {
          now += minutes * 60_000
          furthest = Math.max(furthest, now)
          for (let more = true; more && next !== null && next.getTime() <= now;) {
            const due = dueTicks(schedule, next, new Date(now), { policy, windowSeconds }, most)
            for (const tick of due.ticks) {
              const late = now - tick.at.getTime()
              if (tick.does === 'run' && late > 2_000) assert.ok(policy !== 'none' && late <= windowSeconds * 1000)
              actualTicks.push(tick.at.toISOString())
            }
            if (policy === 'latest')
              assert.ok(due.ticks.filter(({ at, does }) => does === 'run' && now - at.getTime() > 2_000).length <= 1)
            ;({ next, more } = due)
          }
        }
        const expected: string[] = []
        for (let tick = schedule.next(start); tick !== null && tick.getTime() <= furthest; tick = schedule.next(tick))
          expected.push(tick.toISOString())
        assert.deepEqual(actualTicks, expected)
      },
    ),
    { numRuns: 30 },
  )
})
