const FIRST_MS = 1_000
const LONGEST_MS = 30_000

/**
 * Milliseconds to wait before a lost stream is opened again, after so many attempts that failed: twice as long each time,
 * up to 30 s, and half of it by chance, so that all windows of a restarted server do not come back in the same moment.
 */
export const waitBefore = (failed: number, chance = Math.random()): number =>
  Math.min(LONGEST_MS, FIRST_MS * 2 ** failed) * (0.5 + chance / 2)

/** Waits so long, or until the browser says that it has a network again, or for the signal. */
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
