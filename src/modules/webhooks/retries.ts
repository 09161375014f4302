const MINUTE = 60
const HOUR = 3_600

/** Seconds before each retry: eleven over a day. */
const ladder = [5, 30, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 3 * HOUR, 4 * HOUR, 5 * HOUR, 8 * HOUR]
const MAX_DELAY = 8 * HOUR

/** Seconds from attempt number `attempt` (1 is the first) to the next, or null after the last. */
export function nextAttempt(attempt: number, retryAfter: string | undefined, chance = Math.random()): number | null {
  const step = ladder[attempt - 1]
  if (step === undefined) return null
  // Jitter, so that simultaneous failures don't retry together.
  const wait = step * (1 + chance * 0.2)
  const requestedSeconds = retryAfter !== undefined && /^\d{1,6}$/.test(retryAfter) ? Number(retryAfter) : 0
  return Math.min(Math.max(wait, requestedSeconds), MAX_DELAY * 1.2)
}

/** Days of failed attempts after which an endpoint is disabled. */
export const FAILING_DAYS = 3
