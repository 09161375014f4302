import { setTimeout as sleep } from 'node:timers/promises'
import type { Bus } from './bus.ts'

export interface Rounds extends AsyncDisposable {
  wake(): void
}

/**
 * Runs `work` in rounds, never two at once: at start, on each poke of this name, every `pollMs` (pokes may be lost),
 * and again if it returns true. Rounds start at least `paceMs` apart; pokes in between share the next one. Errors go to
 * `onError` and don't stop the rounds.
 */
export function startRounds(
  { bus, poke, pollMs, paceMs }: { bus: Bus; poke: string; pollMs: number; paceMs?: number },
  work: Work,
  onError: (error: unknown) => void,
): Rounds {
  const rounds = createRounds({ paceMs }, work, onError)
  const subscription = bus.on(poke, rounds.wake)
  const timer = setInterval(rounds.poll, pollMs)
  rounds.poll()
  return {
    wake: rounds.wake,
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      subscription[Symbol.dispose]()
      await rounds[Symbol.asyncDispose]()
    },
  }
}

/** `isPoked`: there is known work. Otherwise the round only looks for some. */
type Work = (closing: AbortSignal, isPoked: boolean) => Promise<boolean | void>

export function createRounds(
  { paceMs = 0 }: { paceMs?: number | undefined },
  work: Work,
  onError: (error: unknown) => void,
): Rounds & { poll(): void } {
  const closing = new AbortController()
  let again = false
  let isPoked = false
  let running: Promise<void> | null = null
  let lastAt = -Infinity

  async function run(): Promise<void> {
    while (again && !closing.signal.aborted) {
      const wait = lastAt + paceMs - performance.now()
      if (wait > 0) await sleep(wait)
      const wasPoked = isPoked
      again = isPoked = false
      lastAt = performance.now()
      try {
        if (await work(closing.signal, wasPoked)) again = isPoked = true
      } catch (error) {
        onError(error)
      }
    }
    // Cleared synchronously: a later microtask would still see it as running and miss a wake-up.
    running = null
  }
  function poll(): void {
    again = true
    running ??= run()
  }
  return {
    poll,
    wake() {
      isPoked = true
      poll()
    },
    async [Symbol.asyncDispose]() {
      closing.abort()
      await running
    },
  }
}
