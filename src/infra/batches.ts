import { asServer } from './postgres/fair/callers.ts'

/** Batches that follow each other closely, and how long the next one waits for company. */
export interface Pace {
  /** A batch of so many tells that others are about to ask. */
  company: number
  /** The least time between the starts of two batches then, in milliseconds. */
  apartMs: number
}

/**
 * One round trip for many callers: requests that come while a batch is under way go with the next one. `run`
 * answers in the order of its items; when it throws, every caller of that batch gets the error. With a pace,
 * batches under load begin so far apart that each has more callers to share what a round trip costs; who is alone
 * never waits.
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
    // The next batch leaves before the callers of this one go on: the database works while they do.
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
      // Callers of the same turn of the event loop share the first batch too.
      asServer(() => next(setImmediate))
    })
}
