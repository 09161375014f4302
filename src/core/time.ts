/** ISO 8601 UTC with milliseconds, the only time format in the API. */
export const iso = (at: Date): string => at.toISOString()
export const isoOrNull = (at: Date | null): string | null => (at === null ? null : at.toISOString())

export type Period = 'day' | 'week' | 'month' | 'total'

/** The UTC period as a sortable key: `2026-11-21`, `2026-W47`, `2026-11`, `total`. */
export function periodKey(period: Period, at: Date): string {
  const day = Math.floor(at.getTime() / DAY_MS)
  if (day !== present.day) present = { day, keys: keysOf(at) }
  return present.keys[period]
}

const DAY_MS = 86_400_000

// Cached per day, because every model call needs these.
let present: { day: number; keys: Record<Period, string> } = {
  day: NaN,
  keys: { day: '', week: '', month: '', total: '' },
}

function keysOf(at: Date): Record<Period, string> {
  const day = at.toISOString().slice(0, 10)
  // An ISO 8601 week belongs to the year of its Thursday.
  const thursday = new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate()))
  thursday.setUTCDate(thursday.getUTCDate() + 4 - (thursday.getUTCDay() || 7))
  const newYear = Date.UTC(thursday.getUTCFullYear(), 0, 1)
  const week = Math.ceil(((thursday.getTime() - newYear) / DAY_MS + 1) / 7)
  return {
    day,
    week: `${thursday.getUTCFullYear()}-W${String(week).padStart(2, '0')}`,
    month: day.slice(0, 7),
    total: 'total',
  }
}

export function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== undefined
  } catch {
    return false
  }
}

/** Both dates are inclusive. */
export interface Span {
  from: Date
  until: Date
}
