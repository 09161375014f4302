const MINUTE = 60
const HOUR = 3_600

/** Seconds before each further attempt: eleven over a day. */
const ladder = [5, 30, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 3 * HOUR, 4 * HOUR, 5 * HOUR, 8 * HOUR]
const LONGEST = 8 * HOUR

/** Seconds from the attempt of this number (1 is the first) until the next, or null when it was the last. */
export function nextAttempt(attempt: number, retryAfter: string | undefined, chance = Math.random()): number | null {
  const step = ladder[attempt - 1]
  if (step === undefined) return null
  // A little apart, so that what failed together does not come back together.
  const wait = step * (1 + chance * 0.2)
  const asked = retryAfter !== undefined && /^\d{1,6}$/.test(retryAfter) ? Number(retryAfter) : 0
  return Math.min(Math.max(wait, asked), LONGEST * 1.2)
}

/** Every attempt failed for so long: it is switched off. */
export const FAILING_DAYS = 3
