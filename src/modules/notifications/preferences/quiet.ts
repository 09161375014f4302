import { Cron } from 'croner'
import type { Digest } from './types.ts'

/** Times of a day, `22:30`, in a zone; over midnight when the end is the smaller. */
export interface QuietHours {
  start: string
  end: string
  time_zone: string | null
}

/** The time of day there, as it stands on a clock. */
const clockIn = (zone: string, at: Date): string =>
  new Intl.DateTimeFormat('en-GB', { timeZone: zone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }).format(at)

export function isQuiet(hours: QuietHours | null, zone: string, at: Date): boolean {
  if (hours === null || hours.start === hours.end) return false
  const now = clockIn(hours.time_zone ?? zone, at)
  return hours.start < hours.end ? now >= hours.start && now < hours.end : now >= hours.start || now < hours.end
}

/** The next moment that a clock there shows this time; one that summer time leaves out comes with the hour after it. */
export function nextAt(clock: string, zone: string, after: Date): Date {
  const [hour, minute] = clock.split(':').map(Number)
  return new Cron(`${minute} ${hour} * * *`, { timezone: zone }).nextRun(after)!
}

/** The time at which a notification of `at` may go out. */
export function dueAt(
  at: Date,
  {
    zone,
    quietHours,
    digest,
    digestAt,
  }: { zone: string; quietHours: QuietHours | null; digest: Digest; digestAt: string },
): Date {
  const due =
    digest === 'daily'
      ? nextAt(digestAt, zone, at)
      : digest === 'hourly'
        ? new Date(Math.floor(at.getTime() / HOUR_MS + 1) * HOUR_MS)
        : at
  return isQuiet(quietHours, zone, due) ? nextAt(quietHours!.end, quietHours!.time_zone ?? zone, due) : due
}
const HOUR_MS = 3_600_000
