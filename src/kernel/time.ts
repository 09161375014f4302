/** ISO 8601 UTC with milliseconds: the one form of a time on the wire. */
export const iso = (at: Date): string => at.toISOString()
export const isoOrNull = (at: Date | null): string | null => (at === null ? null : at.toISOString())

/** The UTC period in which `at` lies, as a key that sorts: `2026-11-21`, `2026-W47`, `2026-11`, `total`. */
export function periodKey(period: 'day' | 'week' | 'month' | 'total', at: Date): string {
  if (period === 'total') return 'total'
  const day = at.toISOString().slice(0, 10)
  if (period === 'day') return day
  if (period === 'month') return day.slice(0, 7)
  // ISO 8601 week: the week of the year that holds its Thursday.
  const thursday = new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate()))
  thursday.setUTCDate(thursday.getUTCDate() + 4 - (thursday.getUTCDay() || 7))
  const newYear = Date.UTC(thursday.getUTCFullYear(), 0, 1)
  const week = Math.ceil(((thursday.getTime() - newYear) / 86_400_000 + 1) / 7)
  return `${thursday.getUTCFullYear()}-W${String(week).padStart(2, '0')}`
}
