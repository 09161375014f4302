export interface WallTime {
  year: number
  /** 1 to 12. */
  month: number
  day: number
  hour: number
  minute: number
}

export const ownZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC'

/** The time zones the browser knows, including this one. */
export const everyZone = (also: string): string[] => [...new Set([also, 'UTC', ...Intl.supportedValuesOf('timeZone')])]

/** The local time in a zone; null if the zone is unknown. */
export function wallTime(timeZone: string, at: number = Date.now()): WallTime | null {
  try {
    const parts = new Intl.DateTimeFormat('en', {
      timeZone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
    }).formatToParts(at)
    const part = (type: string): number => Number(parts.find((one) => one.type === type)?.value)
    return { year: part('year'), month: part('month'), day: part('day'), hour: part('hour'), minute: part('minute') }
  } catch {
    return null
  }
}

export const momentIn = (time: string, timeZone: string): string =>
  new Intl.DateTimeFormat('en', {
    timeZone,
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  }).format(new Date(time))

export const clockIn = (time: string, timeZone: string): string =>
  new Intl.DateTimeFormat('en', { timeZone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }).format(
    new Date(time),
  )

export function saysClockChange(minutes: number, timeZone: string): string | null {
  if (minutes === 0) return null
  const size = Math.abs(minutes) === 60 ? 'an hour' : `${Math.abs(minutes)} minutes`
  return `Before this run, clocks in ${timeZone.replaceAll('_', ' ')} move ${minutes > 0 ? 'forward' : 'back'} by ${size}.`
}
