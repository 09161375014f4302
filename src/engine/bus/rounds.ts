import { setTimeout as sleep } from 'node:timers/promises'
import type { Bus } from './bus.ts'

/** Work that is done in rounds for as long as a server runs. Disposing ends it after the round that goes on. */
export interface Rounds extends AsyncDisposable {
  /** A round from now on, or after the one that goes on. */
  wake(): void
}

/**
 * Does `work` round by round, never two at once: at the start, at every poke of this name, each `pollMs` behind the pokes,
 * which may be lost, and again at once when it answers true. `paceMs` lies between the beginnings of two rounds: what
 * comes in between shares the second. What a round throws goes to `failed`; the next one comes all the same.
 */
export function startRounds(
  { bus, poke, pollMs, paceMs = 0 }: { bus: Bus; poke: string; pollMs: number; paceMs?: number },
  work: (closing: AbortSignal) => Promise<boolean | void>,
  failed: (error: unknown) => void,
): Rounds {
  const closing = new AbortController()
  let again = false
  let running: Promise<void> | null = null
  let lastAt = -Infinity

  async function run(): Promise<void> {
    while (again && !closing.signal.aborted) {
      const wait = lastAt + paceMs - performance.now()
      if (wait > 0) await sleep(wait)
      again = false
      lastAt = performance.now()
      try {
        if (await work(closing.signal)) again = true
      } catch (error) {
        failed(error)
      }
    }
  }
  function wake(): void {
    again = true
    running ??= run().finally(() => (running = null))
  }

  const woken = bus.on(poke, wake)
  const timer = setInterval(wake, pollMs)
  wake()
  return {
    wake,
    async [Symbol.asyncDispose]() {
      closing.abort()
      clearInterval(timer)
      woken[Symbol.dispose]()
      await running
    },
  }
}
