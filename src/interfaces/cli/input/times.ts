const SECONDS: Record<string, number> = { s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 }
const DAY_MS = 86_400_000

/**
 * Parses `90s`, `15m`, `1h30m`, `7d` or `2w`, with an optional sign, into milliseconds; null if it isn't a duration. A
 * day has 24 hours.
 */
function span(words: string): { sign: '+' | '-' | ''; ms: number } | null {
  const [, sign, parts] = /^([+-]?)((?:\d+[smhdw])+)$/.exec(words) ?? []
  if (parts === undefined) return null
  const seconds = [...parts.matchAll(/(\d+)([smhdw])/g)].map(([, count, unit]) => Number(count) * SECONDS[unit!]!)
  return { sign: sign as '+' | '-' | '', ms: 1_000 * seconds.reduce((sum, one) => sum + one, 0) }
}

/**
 * Converts a typed time to ISO 8601; null if it isn't one. Without a sign, `7d` is in seven days for fields about an
 * end, and seven days ago otherwise. Days and times without a zone are local.
 */
export function timeOf(words: string, name: string, now: Date): string | null {
  const distance = span(words)
  if (distance !== null) {
    const ahead = distance.sign === '' ? /expire|until/.test(name) : distance.sign === '+'
    return iso(now.getTime() + (ahead ? distance.ms : -distance.ms))
  }
  const parts = /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.\d+)?)?)?$/.exec(words)
  if (parts !== null) {
    const [year, month, day, hour = 0, minute = 0, second = 0] = parts.slice(1).map((part) => Number(part ?? 0))
    const date = new Date(year!, month! - 1, day, hour, minute, second)
    // Rejects 31 February, which `Date` turns into 3 March.
    return date.getMonth() === month! - 1 && date.getDate() === day ? iso(date.getTime()) : null
  }
  return /^\d{4}-\d\d-\d\dT/.test(words) ? iso(Date.parse(words)) : null
}

/** Converts a typed UTC day to `YYYY-MM-DD`; null if it isn't one. `7d` is seven days ago. */
export function dayOf(words: string, now: Date): string | null {
  const namedOffset = { today: 0, yesterday: DAY_MS }[words]
  const distance = span(words)
  const back = namedOffset ?? (distance === null ? null : distance.sign === '+' ? -distance.ms : distance.ms)
  if (back !== null) return iso(now.getTime() - back)?.slice(0, 10) ?? null
  return /^\d{4}-\d\d-\d\d$/.test(words) ? words : null
}

/** Largest time a `Date` can hold. NaN fails the comparison too. */
const MAX_MS = 8.64e15
const iso = (ms: number): string | null => (Math.abs(ms) <= MAX_MS ? new Date(ms).toISOString() : null)
