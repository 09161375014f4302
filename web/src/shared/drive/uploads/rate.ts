/** The weight of the newest measurement: about the last five count. */
const NEWEST = 0.3
const EVERY_MS = 500

export function rateMeter(): (at: number, sent: number) => number | null {
  let rate: number | null = null
  let last: { at: number; sent: number } | null = null
  return (at, sent) => {
    if (last === null || sent < last.sent) last = { at, sent }
    const ms = at - last.at
    if (ms < EVERY_MS) return rate
    const now = ((sent - last.sent) / ms) * 1_000
    rate = rate === null ? now : rate + NEWEST * (now - rate)
    last = { at, sent }
    return rate
  }
}

/** `20 s left`, `4 min left`; null while unknown. */
export function leftWords(bytes: number, rate: number | null): string | null {
  if (rate === null || rate < 1) return null
  const seconds = Math.ceil(bytes / rate)
  if (seconds < 60) return `${seconds} s left`
  if (seconds < 3_600) return `${Math.ceil(seconds / 60)} min left`
  return `${(seconds / 3_600).toFixed(1).replace('.0', '')} h left`
}
