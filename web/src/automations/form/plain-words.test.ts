import assert from 'node:assert/strict'
import { test } from 'node:test'
import { understand } from './plain-words.ts'

const now = { year: 2026, month: 11, day: 23, hour: 16, minute: 40 }
const of = (words: string): string => {
  const found = understand(words, now)
  return 'why' in found ? `why: ${found.why}` : found.schedule
}

const said: Record<string, string> = {
  'every weekday at nine': '0 9 * * 1-5',
  'Every weekday at 9:00 a.m.': '0 9 * * 1-5',
  'at half past eight in the evening every day': '30 20 * * *',
  'daily at 7:30 pm': '30 19 * * *',
  'every day at noon and 6pm': '0 12,18 * * *',
  'every day at midnight': '0 0 * * *',
  'every Monday and Thursday at 14:00': '0 14 * * 1,4',
  'Tuesdays, Fridays at quarter to ten': '45 9 * * 2,5',
  'weekends at 10 am': '0 10 * * 0,6',
  'monday to friday at 6.45': '45 6 * * 1-5',
  'Wed-Sun at nine thirty': '30 9 * * 3-7',
  'every morning': '0 8 * * *',
  'every hour': '0 * * * *',
  hourly: '0 * * * *',
  'every 15 minutes': '*/15 * * * *',
  'every two hours': '0 */2 * * *',
  'every half hour on weekdays between 9 and 17': '*/30 9-16 * * 1-5',
  'every other hour from 8 to 18 on saturday': '0 8-17/2 * * 6',
  'on the 1st and 15th of every month at 8': '0 8 1,15 * *',
  'every month on the 3rd at 10 pm': '0 22 3 * *',
  'monthly at six in the morning': '0 6 1 * *',
  'the last day of the month at 17:00': '0 17 L * *',
  'every 24 December at 18:00': '0 18 24 12 *',
  'every year on March 1st at noon': '0 12 1 3 *',
  'tomorrow at nine': '2026-11-24T09:00',
  'today at 23:15': '2026-11-23T23:15',
  tonight: '2026-11-23T22:00',
  'next friday at 8 am': '2026-11-27T08:00',
  'next monday at 8 am': '2026-11-30T08:00',
  'on 24 December at 7:30 pm': '2026-12-24T19:30',
  'January 2nd at noon': '2027-01-02T12:00',
  'on 2027-03-28 at 2:30': '2027-03-28T02:30',
  'in two hours': '2026-11-23T18:40',
  'in 3 days at 9': '2026-11-26T09:00',
  'in an hour': '2026-11-23T17:40',
}

test('plain English becomes a schedule', () => {
  for (const [words, schedule] of Object.entries(said)) assert.equal(of(words), schedule, words)
})

test('missing times and days get defaults, which are reported', () => {
  const assumed = (words: string) => {
    const found = understand(words, now)
    return 'why' in found ? null : [found.schedule, found.assumed !== null]
  }
  assert.deepEqual(assumed('every weekday'), ['0 9 * * 1-5', true])
  assert.deepEqual(assumed('at five pm'), ['0 17 * * *', true])
  assert.deepEqual(assumed('tomorrow'), ['2026-11-24T09:00', true])
  assert.deepEqual(assumed('every weekday at 9'), ['0 9 * * 1-5', false])
})

test('text that isn’t understood is reported and never guessed', () => {
  for (const [words, why] of [
    ['', /Enter a schedule/],
    ['every full moon at nine', /full moon/],
    ['every weekday at 25:00', /isn’t a time of day/],
    ['every 7 minutes', /divide an hour/],
    ['every 5 hours', /divide a day/],
    ['every day at 9 and 17:30', /same minute/],
    ['every weekday except tuesday at nine', /except/],
    ['every month on the 32nd at 9', /32/],
    ['every week at nine', /Which day/],
    ['now and then', /now/],
  ] as const)
    assert.match(of(words), why, words)
})
