import { iso } from '#core/time.ts'
import { firstTick, scheduleOf, zoneOf } from './schedule.ts'

const MINUTE_MS = 60_000

/** Refuses schedules that never fire. */
export function firingsOf(pattern: string, timeZone: string, now: Date, count: number) {
  const schedule = scheduleOf(pattern, timeZone)
  const zone = zoneOf(timeZone)
  const offset = (at: Date): number => Math.round((zone.wall(at.getTime()) - at.getTime()) / MINUTE_MS)
  const firings = []
  let before = offset(now)
  for (
    let at: Date | null = firstTick(pattern, timeZone, now);
    at !== null && firings.length < count;
    at = schedule.next(at)
  ) {
    const utc_offset_minutes = offset(at)
    firings.push({
      at: iso(at),
      local: new Date(zone.wall(at.getTime())).toISOString().slice(0, 19),
      utc_offset_minutes,
      clock_change_minutes: utc_offset_minutes - before,
    })
    before = utc_offset_minutes
  }
  return firings
}
