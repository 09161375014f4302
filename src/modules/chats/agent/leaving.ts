import { setTimeout as sleep } from 'node:timers/promises'

/** The time that a call has to stop after an abort. Its end reports the usage. */
const LEAVE_MS = 2_000

/** The same items until the signal fires. The source then has `LEAVE_MS` to end. */
export async function* leaving<T>(source: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T, void, undefined> {
  const iterator = source[Symbol.asyncIterator]()
  const { promise: late, reject } = Promise.withResolvers<never>()
  late.catch(() => {})
  const onAbort = (): void => {
    void sleep(LEAVE_MS, undefined, { ref: false }).then(() => reject(signal.reason as Error))
  }
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    for (;;) {
      const next = await Promise.race([iterator.next(), late])
      if (next.done) break
      yield next.value
    }
  } finally {
    signal.removeEventListener('abort', onAbort)
    iterator.return?.().catch?.(() => {})
  }
}
