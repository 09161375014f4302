import { setTimeout as sleep } from 'node:timers/promises'
import type { Bus } from './bus.ts'

/** Work that is done in rounds for as long as a server runs. Disposing ends it after the round that goes on. */
export interface Rounds extends AsyncDisposable {
  /** A round from now on, or after the one that goes on. */
  wake(): void
}

/**
 * Does `work` round by round, never two at once: at the start, at every poke of this name, every `pollMs` (pokes
 * may be lost), and again at once when `work` answers true. Rounds begin at least `paceMs` apart: pokes in between
 * share the next one. What a round throws goes to `failed`; the next one comes all the same.
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

/** `poked`: somebody knows of work to do; else it is only looked whether there is some. */
type Work = (closing: AbortSignal, isPoked: boolean) => Promise<boolean | void>

/** The same, where the caller alone says when a round comes: on a word of somebody, or to look whether one was lost. */
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
    // In the same moment as the last look at it: whoever wakes a promise's turn later would find it running still.
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
