const FIRST_MS = 1_000
const LONGEST_MS = 30_000

/**
 * Milliseconds to wait before reconnecting a lost stream after `attempt` failures: doubles up to 30 s, with 50% jitter
 * so that windows don't all reconnect at once after a server restart.
 */
export const waitBefore = (failed: number, chance = Math.random()): number =>
  Math.min(LONGEST_MS, FIRST_MS * 2 ** failed) * (0.5 + chance / 2)

/** Resolves after `ms`, when the browser comes back online, or when the signal aborts. */
export const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      window.removeEventListener('online', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', done)
    window.addEventListener('online', done)
  })
