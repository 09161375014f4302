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
