import { Cron } from 'croner'
import { refuse } from '#kernel/errors.ts'
import { Zone } from './zone.ts'

/** When a cron schedule fires in its time zone. */
export interface Schedule {
  /** The first tick after this moment; null: never again. */
  next(after: Date): Date | null
}

const known = new Map<string, Schedule>()
const MOST_KNOWN = 20_000
/** Names in any case are the same zone, so there are more of them than zones. */
const MOST_ZONES = 2_000

/**
 * Five fields, or six with seconds in front (croner). A local time that the clock jumps over fires right after the jump,
 * one that comes twice fires once; where the hours are `*` it goes by real time, and an hour that comes twice fires
 * twice. Refuses what is not a schedule or never fires.
 */
export function scheduleOf(pattern: string, timeZone: string): Schedule {
  const key = `${timeZone}\0${pattern}`
  const before = known.get(key)
  if (before) return before
  const zone = zoneOf(timeZone)
  const schedule = isInterval(pattern) ? byTime(cronOf(pattern, timeZone)) : byWall(cronOf(pattern, 'UTC'), zone)
  if (schedule.next(new Date()) === null)
    refuse('invalid_cron', { param: 'schedule', message: `\`${pattern.slice(0, 100)}\` never fires.` })
  if (known.size >= MOST_KNOWN) known.clear()
  known.set(key, schedule)
  return schedule
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

function isInterval(pattern: string): boolean {
  const fields = pattern.trim().split(/\s+/)
  return fields[0] === '@hourly' || /^[*?]/.test(fields.at(-4) ?? '')
}

function cronOf(pattern: string, timezone: string): Cron {
  const fields = pattern.trim().split(/\s+/).length
  try {
    if (!pattern.trim().startsWith('@') && fields !== 5 && fields !== 6) throw new Error(`${fields} fields`)
    return new Cron(pattern.trim(), { timezone, paused: true })
  } catch (error) {
    return refuse('invalid_cron', {
      param: 'schedule',
      message: `\`${pattern.slice(0, 100)}\` is not a cron schedule of 5 or 6 fields, such as \`0 9 * * 1-5\`: ${error instanceof Error ? error.message.slice(0, 120) : ''}`,
    })
  }
}

const zones = new Map<string, Zone>()

function zoneOf(name: string): Zone {
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
      message: `\`${name.slice(0, 60)}\` is no IANA time zone, such as Europe/Berlin or UTC.`,
    })
  }
}
