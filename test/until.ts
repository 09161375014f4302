import assert from 'node:assert/strict'
import { inspect, isDeepStrictEqual } from 'node:util'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * The one limit of everything that waits in a test, here and in the browser. It only ends what would never come true, so
 * it is far above what a busy machine needs, and below the limit of a whole test (`test/runner/crew.ts`).
 */
export const PATIENCE_MS = 180_000

/** Repeats `ask` until its answer holds, and returns that answer. After `PATIENCE_MS` it throws with the last answer. */
export async function until<T>(ask: () => Promise<T>, holds: (answer: T) => boolean): Promise<T> {
  const end = performance.now() + PATIENCE_MS
  for (;;) {
    const answer = await ask()
    if (holds(answer)) return answer
    if (performance.now() > end) throw new Error(`it did not come true; the last answer was ${inspect(answer)}`)
    await sleep(10)
  }
}

/** Repeats `ask` until its answer equals `expected` or matches it. For states that follow an act a moment later. */
export async function becomes<T>(ask: () => Promise<T> | T, expected: T | RegExp): Promise<void> {
  const holds = (answer: T): boolean =>
    expected instanceof RegExp ? expected.test(String(answer)) : isDeepStrictEqual(answer, expected)
  let last: { answer: T } | undefined
  try {
    await until(
      async () => (last = { answer: await ask() }),
      ({ answer }) => holds(answer),
    )
  } catch (error) {
    if (!last || holds(last.answer)) throw error
    // It says what differs.
    if (expected instanceof RegExp) assert.match(String(last.answer), expected)
    else assert.deepEqual(last.answer, expected)
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
