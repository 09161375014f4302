import { Cron } from 'croner'
import { refuse } from '#core/errors.ts'
import { cronFault } from './cron-fault.ts'
import { Zone } from './zone.ts'
import { shorten } from '#core/text/shorten.ts'

/** A cron schedule in its time zone. */
export interface Schedule {
  /** The first tick after this moment; null: never again. */
  next(after: Date): Date | null
}

const known = new Map<string, Schedule>()
const MOST_KNOWN = 20_000
/** Names in any case are the same zone, so there are more of them than zones. */
const MOST_ZONES = 2_000

/**
 * Five fields, or six with seconds in front (croner); or one local time, which fires once. A local time that the clock
 * jumps over fires right after the jump, one that comes twice fires once. Where it fires in every hour of the day it goes
 * by real time, and an hour that comes twice fires twice. Refuses what is not a schedule or never fires; one local time may be over.
 */
export function scheduleOf(pattern: string, timeZone: string): Schedule {
  const key = `${timeZone}\0${pattern}`
  const before = known.get(key)
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
  if (known.size >= MOST_KNOWN) known.clear()
  known.set(key, schedule)
  return schedule
}

/** The first tick of what somebody sets; refuses one local time that is over. */
export function firstTick(pattern: string, timeZone: string, now: Date): Date {
  const first = scheduleOf(pattern, timeZone).next(now)
  if (first !== null) return first
  return refuse('invalid_cron', {
    param: 'schedule',
    message: `\`schedule\` must be in the future: \`${shorten(pattern, 100)}\` has already passed in ${timeZone}.`,
  })
}

/** A local time such as `2026-12-24T09:00`. */
const ONCE = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2})?$/

const once = (at: number): Schedule => ({ next: (after) => (at > after.getTime() ? new Date(at) : null) })

function wallOf(pattern: string): number {
  const wall = Date.parse(`${pattern}Z`)
  // The 30th of February is read as a day of March.
  if (Number.isNaN(wall) || !new Date(wall).toISOString().startsWith(pattern))
    refuse('invalid_cron', {
      param: 'schedule',
      message: `\`schedule\`: the local time \`${shorten(pattern, 100)}\` doesn’t exist in this time zone.`,
    })
  return wall
}

const byTime = (cron: Cron): Schedule => ({ next: (after) => cron.nextRun(after) })

/** The pattern is followed on a clock that never jumps, and each of its times then looked for on that of the zone. */
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

/** Decided by the hours that a field means, so `*`, `0-23`, `0-23/1` and a list of all of them are one schedule. */
function isInterval(pattern: string): boolean {
  const fields = pattern.trim().split(/\s+/)
  if (fields[0]?.toLowerCase() === '@hourly') return true
  const hours = fields.at(-4)
  return hours !== undefined && hoursOf(hours) === EVERY_HOUR
}

/** The hours of a field, in order; empty for a field that isn't valid, which is refused later. */
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
    if (zones.size >= MOST_ZONES) zones.clear()
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
