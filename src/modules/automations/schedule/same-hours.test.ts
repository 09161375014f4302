import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scheduleOf } from './schedule.ts'

const all = Array.from({ length: 24 }, (_, hour) => hour)
const every = (step: number): number[] => all.filter((hour) => hour % step === 0)

/** Hour fields that mean the same hours. */
const SPELLINGS: readonly (readonly string[])[] = [
  ['*', '0-23', '*/1', '0-23/1', '0-11,12-23', '12-23,0-11', all.join(), '*,5', '0-22,23'],
  ...[2, 3, 4, 6, 8, 12].map((step) => [
    `*/${step}`,
    `0-23/${step}`,
    every(step).join(),
    every(step).toReversed().join(),
  ]),
  ['*/5', '0-23/5', '0,5,10,15,20'],
  ['9', '9-9', '9,9'],
  ['1-5', '1,2,3,4,5', '1-3,4-5', '5,1-4'],
  ['1-23/2', '1,3,5,7,9,11,13,15,17,19,21,23'],
]

/** Zones with the days before their clock changes in 2027. */
const ZONES = {
  'Europe/Berlin': ['2027-03-27', '2027-10-30'],
  'America/New_York': ['2027-03-13', '2027-11-06'],
  'Australia/Lord_Howe': ['2027-04-03', '2027-10-02'],
  'America/Santiago': ['2027-04-03', '2027-09-04'],
  UTC: ['2027-03-27', '2027-10-30'],
}

for (const [zone, days] of Object.entries(ZONES))
  test(`schedules with the same hours fire at the same instants in ${zone}, including clock changes`, () => {
    for (const day of days)
      for (const minutes of ['0', '30'])
        for (const spellings of SPELLINGS) {
          const [first, ...others] = spellings.map((hours) => firings(`${minutes} ${hours} * * *`, zone, day))
          for (const [at, other] of others.entries()) assert.deepEqual(other, first, `${spellings[at + 1]} in ${zone}`)
        }
  })

function firings(pattern: string, zone: string, day: string): string[] {
  const schedule = scheduleOf(pattern, zone)
  const end = Date.parse(`${day}T00:00:00Z`) + 2 * 86_400_000
  const moments: string[] = []
  let at = schedule.next(new Date(`${day}T00:00:00Z`))
  for (; at !== null && at.getTime() < end; at = schedule.next(at)) moments.push(at.toISOString())
  return moments
}

test('every hour has the same length in real time when clocks go back', () => {
  const moments = firings('0 0-23 31 10 *', 'Europe/Berlin', '2027-10-30')
  assert.equal(moments.length, 25)
  assert.ok(moments.includes('2027-10-31T01:00:00.000Z'))
})

test('a nickname in any case fires like its pattern, including clock changes', () => {
  const nicknames = {
    '@hourly': '0 * * * *',
    '@daily': '0 0 * * *',
    '@midnight': '0 0 * * *',
    '@weekly': '0 0 * * 0',
    '@monthly': '0 0 1 * *',
    '@yearly': '0 0 1 1 *',
    '@annually': '0 0 1 1 *',
  }
  for (const [zone, days] of Object.entries(ZONES))
    for (const day of [...days, '2027-12-31'])
      for (const [nickname, pattern] of Object.entries(nicknames))
        for (const spelling of [
          nickname,
          nickname.toUpperCase(),
          ` ${nickname[0]}${nickname[1]!.toUpperCase()}${nickname.slice(2)} `,
        ])
          assert.deepEqual(firings(spelling, zone, day), firings(pattern, zone, day), `${spelling} in ${zone}`)
})
