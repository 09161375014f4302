import assert from 'node:assert/strict'
import { inspect, isDeepStrictEqual } from 'node:util'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * The limit of every wait in tests, including the browser. It only ends hopeless waits, so it is far above a busy
 * machine's needs and below a test's limit (`test/runner/crew.ts`).
 */
export const PATIENCE_MS = 180_000

/**
 * Repeats `ask` until its result satisfies `holds`, and returns it. After `PATIENCE_MS` throws with the last result.
 */
export async function until<T>(ask: () => Promise<T>, holds: (answer: T) => boolean): Promise<T> {
  const end = performance.now() + PATIENCE_MS
  for (;;) {
    const answer = await ask()
    if (holds(answer)) return answer
    if (performance.now() > end) throw new Error(`it did not come true; the last answer was ${inspect(answer)}`)
    await sleep(10)
  }
}

/** Repeats `ask` until its result equals or matches `expected`. For states that follow an action with a delay. */
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
    if (expected instanceof RegExp) assert.match(String(last.answer), expected)
    else assert.deepEqual(last.answer, expected)
  }
}

/** Counts milliseconds this process actually had, excluding pauses for lack of CPU. */
export function stopwatch(): () => number {
  ticking ??= setInterval(had, TURN_MS).unref()
  const from = had()
  return () => had() - from
}
let ticking: NodeJS.Timeout | undefined
let sum = 0
let last = performance.now()
function had(): number {
  const now = performance.now()
  sum += Math.min(now - last, MAX_MS)
  last = now
  return sum
}
/** Resolves after this much stopwatch time. Doesn't keep the process alive. */
export async function given(milliseconds: number): Promise<void> {
  const since = stopwatch()
  while (since() < milliseconds) await sleep(TURN_MS, undefined, { ref: false })
}

/** The clock's interval; a longer gap than `MAX_MS` was a pause of the process. */
const TURN_MS = 10
const MAX_MS = 50
