/**
 * Does `work` for each item, in order and at most `most` at the same time. A failure is thrown once the work under
 * way has ended; nothing further is begun.
 */
export async function eachAtOnce<T>(items: Iterable<T>, most: number, work: (item: T) => Promise<void>): Promise<void> {
  const waiting = items[Symbol.iterator]()
  const failed = new AbortController()
  const worker = async (): Promise<void> => {
    for (let next = waiting.next(); !failed.signal.aborted && next.done !== true; next = waiting.next())
      await work(next.value).catch((error: unknown) => {
        failed.abort()
        throw error
      })
  }
  const ends = await Promise.allSettled(Array.from({ length: most }, worker))
  const broken = ends.find((end) => end.status === 'rejected')
  if (broken) throw broken.reason
}
