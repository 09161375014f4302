import { Cron } from 'croner'
import { refuse } from '#core/errors.ts'
import { cronFault } from './cron-fault.ts'
import { Zone } from './zone.ts'
import { shorten } from '#core/text/shorten.ts'

export interface Schedule {
  next(after: Date): Date | null
}

const scheduleCache = new Map<string, Schedule>()
const MAX_KNOWN = 20_000
/** Zone names are case-insensitive, so there are more keys than zones. */
const MAX_ZONES = 2_000

/**
 * Parses five or six cron fields (croner), or one local time that fires once. A skipped local time fires right after
 * the clock change, a repeated one fires once. Hourly schedules follow real time, so a repeated hour fires twice.
 * Refuses invalid schedules and those that never fire, but not a past local time.
 */
export function scheduleOf(pattern: string, timeZone: string): Schedule {
  const key = `${timeZone}\0${pattern}`
  const before = scheduleCache.get(key)
  if (before) return before
  const zone = zoneOf(timeZone)
  const isOnce = ONCE.test(pattern)
  const schedule = isOnce
    ? once(zone.moment(wallOf(pattern)))
    : isInterval(pattern)
      ? byTime(cronOf(pattern, timeZone))
      : byWall(cronOf(pattern, 'UTC'), zone)
  if (!isOnce && schedule.next(new Date()) === null)
    refuse('invalid_cron', {
      param: 'schedule',
      message: `\`schedule\` never fires: no date matches \`${shorten(pattern, 100)}\`.`,
    })
  if (scheduleCache.size >= MAX_KNOWN) scheduleCache.clear()
  scheduleCache.set(key, schedule)
  return schedule
}

/** Returns the first tick. Refuses a past local time. */
export function firstTick(pattern: string, timeZone: string, now: Date): Date {
  const first = scheduleOf(pattern, timeZone).next(now)
  if (first !== null) return first
  return refuse('invalid_cron', {
    param: 'schedule',
    message: `\`schedule\` must be in the future: \`${shorten(pattern, 100)}\` has already passed in ${timeZone}.`,
  })
}

const ONCE = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2})?$/

const once = (at: number): Schedule => ({ next: (after) => (at > after.getTime() ? new Date(at) : null) })

function wallOf(pattern: string): number {
  const wall = Date.parse(`${pattern}Z`)
  // `Date.parse` accepts February 30.
  if (Number.isNaN(wall) || !new Date(wall).toISOString().startsWith(pattern))
    refuse('invalid_cron', {
      param: 'schedule',
      message: `\`schedule\`: the local time \`${shorten(pattern, 100)}\` doesn’t exist in this time zone.`,
    })
  return wall
}

const byTime = (cron: Cron): Schedule => ({ next: (after) => cron.nextRun(after) })

/** Follows the pattern on a clock without changes, then maps each time to the zone. */
const byWall = (cron: Cron, zone: Zone): Schedule => ({
  next(after) {
    for (let wall = cron.nextRun(new Date(zone.wall(after.getTime()))); wall !== null; wall = cron.nextRun(wall)) {
      const at = zone.moment(wall.getTime())
      if (at > after.getTime()) return new Date(at)
    }
    return null
  },
})

const EVERY_HOUR = Array.from({ length: 24 }, (_, hour) => hour).join()

/** Compares the resulting hours, so `*`, `0-23`, `0-23/1` and a full list are equal. */
function isInterval(pattern: string): boolean {
  const fields = pattern.trim().split(/\s+/)
  if (fields[0]?.toLowerCase() === '@hourly') return true
  const hours = fields.at(-4)
  return hours !== undefined && hoursOf(hours) === EVERY_HOUR
}

function hoursOf(field: string): string {
  try {
    const day = new Cron(`0 0 ${field} * * *`, { timezone: 'UTC', paused: true })
    return day
      .nextRuns(24, new Date('2025-12-31T23:59:59Z'))
      .filter((at) => at.getUTCDate() === 1)
      .map((at) => at.getUTCHours())
      .join()
  } catch {
    return ''
  }
}

function cronOf(pattern: string, timezone: string): Cron {
  const message = cronFault(pattern)
  return message === null
    ? new Cron(pattern.trim(), { timezone, paused: true })
    : refuse('invalid_cron', { param: 'schedule', message })
}

const zones = new Map<string, Zone>()

export function zoneOf(name: string): Zone {
  const before = zones.get(name)
  if (before) return before
  try {
    if (!/^[A-Za-z][A-Za-z0-9_+/-]{1,60}$/.test(name)) throw new RangeError('no time zone')
    const zone = new Zone(name)
    if (zones.size >= MAX_ZONES) zones.clear()
    zones.set(name, zone)
    return zone
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    return refuse('invalid_time_zone', {
      param: 'time_zone',
      message: `\`time_zone\`: \`${shorten(name, 60)}\` isn’t an IANA time zone, such as Europe/Berlin or UTC.`,
    })
  }
}
