/**
 * Many callers, one round trip: what is asked for while a batch is under way goes with the next one. `run` answers in
 * the order of its items; when it throws, every caller of that batch gets the error.
 */
export function createBatches<T, R>(most: number, run: (items: T[]) => Promise<R[]>): (item: T) => Promise<R> {
  let waiting: { item: T; resolve: (result: R) => void; reject: (error: unknown) => void }[] = []
  let running = false

  async function drain(): Promise<void> {
    running = true
    while (waiting.length > 0) {
      const batch = waiting.splice(0, most)
      try {
        const results = await run(batch.map(({ item }) => item))
        batch.forEach(({ resolve }, i) => resolve(results[i]!))
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    running = false
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      if (running) return
      running = true
      // Callers of the same turn of the event loop share the first batch too.
      setImmediate(() => void drain())
    })
}
