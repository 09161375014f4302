import { Cron } from 'croner'
import { refuse } from '#kernel/errors.ts'

/** When a cron schedule fires in its time zone. */
export interface Schedule {
  /** The first tick after this moment; null: never again. */
  next(after: Date): Date | null
}

const known = new Map<string, Schedule>()
const MOST_KNOWN = 20_000

/**
 * Five fields, or six with seconds in front (croner). A local time that the clock jumps over fires after the jump, one
 * that comes twice fires once, an interval fires in both. Refuses what is no schedule or never fires.
 */
export function scheduleOf(pattern: string, timeZone: string): Schedule {
  const key = `${timeZone}\0${pattern}`
  const before = known.get(key)
  if (before) return before
  if (!isTimeZone(timeZone))
    refuse('invalid_time_zone', {
      param: 'time_zone',
      message: `\`${timeZone.slice(0, 60)}\` is no IANA time zone, such as Europe/Berlin or UTC.`,
    })
  const cron = cronOf(pattern, timeZone)
  const schedule: Schedule = { next: (after) => cron.nextRun(after) }
  if (schedule.next(new Date()) === null)
    refuse('invalid_cron', { param: 'schedule', message: `\`${pattern.slice(0, 100)}\` never fires.` })
  if (known.size >= MOST_KNOWN) known.clear()
  known.set(key, schedule)
  return schedule
}

function cronOf(pattern: string, timezone: string): Cron {
  const fields = pattern.trim().split(/\s+/).length
  try {
    if (!pattern.trim().startsWith('@') && fields !== 5 && fields !== 6) throw new Error(`${fields} fields`)
    return new Cron(pattern.trim(), { timezone, paused: true })
  } catch (error) {
    return refuse('invalid_cron', {
      param: 'schedule',
      message: `\`${pattern.slice(0, 100)}\` is no cron schedule of 5 or 6 fields, such as \`0 9 * * 1-5\`: ${error instanceof Error ? error.message.slice(0, 120) : ''}`,
    })
  }
}

function isTimeZone(words: string): boolean {
  if (!/^[A-Za-z][A-Za-z0-9_+/-]{1,60}$/.test(words)) return false
  try {
    new Intl.DateTimeFormat('en', { timeZone: words }).format()
    return true
  } catch {
    return false
  }
}
