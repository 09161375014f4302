import { Cron } from 'croner'
import type { Digest } from './types.ts'

/** Times of day such as `22:30` in a time zone. Spans midnight if the end is earlier than the start. */
export interface QuietHours {
  start: string
  end: string
  time_zone: string | null
}

const clockIn = (zone: string, at: Date): string =>
  new Intl.DateTimeFormat('en-GB', { timeZone: zone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }).format(at)

export function isQuiet(hours: QuietHours | null, zone: string, at: Date): boolean {
  if (hours === null || hours.start === hours.end) return false
  const now = clockIn(hours.time_zone ?? zone, at)
  return hours.start < hours.end ? now >= hours.start && now < hours.end : now >= hours.start || now < hours.end
}

/** The next time a clock in `zone` shows this time. A time skipped by DST occurs with the following hour. */
export function nextAt(clock: string, zone: string, after: Date): Date {
  const [hour, minute] = clock.split(':').map(Number)
  return new Cron(`${minute} ${hour} * * *`, { timezone: zone }).nextRun(after)!
}

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
