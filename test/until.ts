import { inspect } from 'node:util'
import { setTimeout as sleep } from 'node:timers/promises'

const LONGEST_MS = 90_000

/**
 * The first answer of which this holds. Asked again after a moment, so that nobody comes to their limit by it. What does
 * not come true in a minute and a half throws with the last answer, before the test as a whole runs out of time.
 */
export async function until<T>(ask: () => Promise<T>, holds: (answer: T) => boolean): Promise<T> {
  const end = performance.now() + LONGEST_MS
  for (;;) {
    const answer = await ask()
    if (holds(answer)) return answer
    if (performance.now() > end) throw new Error(`it did not come true; the last answer was ${inspect(answer)}`)
    await sleep(10)
  }
}

/** Counts the milliseconds that this process had from now on: those that it stood still, for want of a processor, are none. */
export function stopwatch(): () => number {
  ticking ??= setInterval(had, TURN_MS).unref()
  const from = had()
  return () => had() - from
}
/** One clock for all stopwatches of the process. */
let ticking: NodeJS.Timeout | undefined
let sum = 0
let last = performance.now()
function had(): number {
  const now = performance.now()
  sum += Math.min(now - last, MOST_MS)
  last = now
  return sum
}
/** Resolves once this process has had so many milliseconds, by a stopwatch. Keeps nothing from ending. */
export async function given(milliseconds: number): Promise<void> {
  const since = stopwatch()
  while (since() < milliseconds) await sleep(TURN_MS, undefined, { ref: false })
}

/** The time between two looks at the clock; if it was more than `MOST_MS`, it was not a time of this process. */
const TURN_MS = 10
const MOST_MS = 50
