/** The present time as a clock on the wall shows it, in the time zone that is meant. */
export interface WallTime {
  year: number
  /** 1 to 12. */
  month: number
  day: number
  hour: number
  minute: number
}

/** The time zone of who looks. */
export const ownZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC'

/** The time zones that the browser knows, with this one in any case. */
export const everyZone = (also: string): string[] => [...new Set([also, 'UTC', ...Intl.supportedValuesOf('timeZone')])]

/** The time on the clock of a zone; null where the zone is not known here. */
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

/** A moment as it is read in a zone, with the day of the week. */
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

/** The change of the clocks before a firing, in words; null: none. */
export function saysClockChange(minutes: number, timeZone: string): string | null {
  if (minutes === 0) return null
  const size = Math.abs(minutes) === 60 ? 'an hour' : `${Math.abs(minutes)} minutes`
  return `Before this the clocks of ${timeZone.replaceAll('_', ' ')} go ${minutes > 0 ? 'forward' : 'back'} by ${size}.`
}
