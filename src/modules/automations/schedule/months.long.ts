import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Wall, WalkedZone, patternOf } from '#test/automations/wall-clock.ts'
import { liveThrough } from '#test/automations/months.ts'
import { scheduleOf } from './schedule.ts'

const spans = [
  ['2027-03-10', '2027-04-07', 'the spring of the north and the autumn of the south'],
  ['2027-09-14', '2027-10-12', 'the spring of the south'],
  ['2027-10-14', '2027-11-11', 'the autumn of the north'],
] as const
for (const [from, until, title] of spans)
  test(`${title}, two servers: every scheduled time has a run or a skipped row despite downtime, edits, archiving and clocks set back`, async (t) => {
    const simulation = await liveThrough({
      from,
      until,
      automations: 16,
      seed: Number(process.env.SEED ?? Date.now() % 100_000),
      downtimes: 2,
    })
    t.diagnostic(JSON.stringify(simulation))
    assert.ok(simulation.ticks > 1_500 && simulation.ran > 20 && simulation.edits > 15 && simulation.downtimes > 0)
  })

test('scheduled times over a year match a minute-by-minute search in every time zone', (t) => {
  const walls: Wall[] = [
    { minutes: [15], hours: [2], weekdays: null },
    { minutes: [0], hours: [0], weekdays: null },
    { minutes: [10, 40], hours: [0, 1, 2, 3], weekdays: null },
    { minutes: [7], hours: null, weekdays: null },
  ]
  const [from, to] = [Date.UTC(2027, 0, 1), Date.UTC(2028, 0, 1)]
  // Zones with the same changes are computed once.
  const kinds = new Map<string, string>()
  for (const name of Intl.supportedValuesOf('timeZone')) {
    const zone = new WalkedZone(name)
    const offsets = Array.from({ length: 365 * 4 }, (_, i) => zone.offset(from + i * 21_600_000))
    kinds.set(offsets.join(), name)
  }
  let ticks = 0
  for (const name of kinds.values()) {
    const zoneWalk = new WalkedZone(name)
    for (const wall of walls) {
      const schedule = scheduleOf(patternOf(wall), name)
      const actualTicks: number[] = []
      for (let next = schedule.next(new Date(from)); next && next.getTime() <= to; next = schedule.next(next))
        actualTicks.push(next.getTime())
      assert.deepEqual(actualTicks, zoneWalk.ticks(wall, from, to), `${patternOf(wall)} in ${name}`)
      ticks += actualTicks.length
    }
  }
  t.diagnostic(JSON.stringify({ zones: kinds.size, ticks }))
})
