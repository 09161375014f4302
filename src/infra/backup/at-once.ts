/**
 * Runs `work` for each item in order, up to `most` at a time. After a failure it starts nothing new, waits for work in
 * progress, and throws.
 */
export async function eachAtOnce<T>(items: Iterable<T>, most: number, work: (item: T) => Promise<void>): Promise<void> {
  const waiting = items[Symbol.iterator]()
  const controller = new AbortController()
  const worker = async (): Promise<void> => {
    for (let next = waiting.next(); !controller.signal.aborted && next.done !== true; next = waiting.next())
      await work(next.value).catch((error: unknown) => {
        controller.abort()
        throw error
      })
  }
  const ends = await Promise.allSettled(Array.from({ length: most }, worker))
  const failure = ends.find((end) => end.status === 'rejected')
  if (failure) throw failure.reason
}
