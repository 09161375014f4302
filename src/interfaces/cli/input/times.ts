const SECONDS: Record<string, number> = { s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 }
const DAY_MS = 86_400_000

/** `90s`, `15m`, `1h30m`, `7d`, `2w`, with or without a sign, in milliseconds; null is none. A day has 24 hours. */
function span(words: string): { sign: '+' | '-' | ''; ms: number } | null {
  const [, sign, parts] = /^([+-]?)((?:\d+[smhdw])+)$/.exec(words) ?? []
  if (parts === undefined) return null
  const seconds = [...parts.matchAll(/(\d+)([smhdw])/g)].map(([, count, unit]) => Number(count) * SECONDS[unit!]!)
  return { sign: sign as '+' | '-' | '', ms: 1_000 * seconds.reduce((sum, one) => sum + one, 0) }
}

/**
 * A point in time as people type it, as ISO 8601; null is none. `7d` without a sign is in seven days where something is
 * to end, else seven days ago. A day, and a time without a zone, are those of this machine.
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
    // The 31st of February is not a day, and not the 3rd of March.
    return date.getMonth() === month! - 1 && date.getDate() === day ? iso(date.getTime()) : null
  }
  return /^\d{4}-\d\d-\d\dT/.test(words) ? iso(Date.parse(words)) : null
}

/** A UTC day as people type it, as `YYYY-MM-DD`; null is none. `7d` is seven days ago. */
export function dayOf(words: string, now: Date): string | null {
  const named = { today: 0, yesterday: DAY_MS }[words]
  const distance = span(words)
  const back = named ?? (distance === null ? null : distance.sign === '+' ? -distance.ms : distance.ms)
  if (back !== null) return iso(now.getTime() - back)?.slice(0, 10) ?? null
  return /^\d{4}-\d\d-\d\d$/.test(words) ? words : null
}

/** The most that a `Date` holds; a value that is not a number is more than that. */
const MOST_MS = 8.64e15
const iso = (ms: number): string | null => (Math.abs(ms) <= MOST_MS ? new Date(ms).toISOString() : null)
