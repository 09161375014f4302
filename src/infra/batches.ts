import { asServer } from './postgres/fair/callers.ts'

export interface Pace {
  /** A batch of this size indicates more requests are coming. */
  company: number
  apartMs: number
}

/**
 * Combines concurrent requests into one round trip: requests that arrive during a batch join the next one. `run`
 * returns results in order; if it throws, the whole batch fails. With a `pace`, batches under load start further apart,
 * so more callers share each round trip. A single caller never waits.
 */
export function createBatches<T, R>(
  most: number,
  run: (items: T[]) => Promise<R[]>,
  { company, apartMs }: Pace = { company: Number.POSITIVE_INFINITY, apartMs: 0 },
): (item: T) => Promise<R> {
  let waiting: { item: T; resolve: (result: R) => void; reject: (error: unknown) => void }[] = []
  let running = false
  let notBefore = 0

  async function drain(): Promise<void> {
    const batch = waiting.splice(0, most)
    if (batch.length >= company) notBefore = performance.now() + apartMs
    let answer: () => void
    try {
      const results = await run(batch.map(({ item }) => item))
      answer = () => batch.forEach(({ resolve }, i) => resolve(results[i]!))
    } catch (error) {
      answer = () => batch.forEach(({ reject }) => reject(error))
    }
    // Sends the next batch before resuming callers, so the database works meanwhile.
    if (waiting.length > 0) next((begin) => begin())
    else running = false
    answer()
  }

  function next(soon: (begin: () => void) => void): void {
    const ms = notBefore - performance.now()
    const begin = (): void => void drain()
    if (ms < 1) soon(begin)
    else setTimeout(begin, ms)
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      if (running) return
      running = true
      asServer(() => next(setImmediate))
    })
}
