import { setTimeout as sleep } from 'node:timers/promises'

/** The first answer of which this holds. Asked again after a moment, so that nobody comes to their limit by it. */
export async function until<T>(ask: () => Promise<T>, holds: (answer: T) => boolean): Promise<T> {
  for (;;) {
    const answer = await ask()
    if (holds(answer)) return answer
    await sleep(10)
  }
}
