import type { Stream } from '#packages/mux/stream.ts'
import { refuse } from '#core/errors.ts'

interface Writer {
  stop(): void
  /** Whether it was stopped and is only closing its file. */
  hasStopped(): boolean
  gone: Promise<void>
}
const writers = new Map<string, Writer>()

/**
 * Waits for the right to write an upload, by the path of its partial file. A newer writer stops the previous one,
 * whose link may have broken unnoticed.
 */
export async function takeTurn(part: string, stream: Stream, signal: AbortSignal): Promise<Disposable> {
  // A sender that disconnected while waiting may have reconnected; the new request keeps the turn.
  signal.throwIfAborted()
  for (let before = writers.get(part); before !== undefined; before = writers.get(part)) {
    before.stop()
    await before.gone
    signal.throwIfAborted()
  }
  return register(part, {
    stop: () => stream.reset('another request continues this upload'),
    hasStopped: () => signal.aborted,
  })
}

/**
 * Reserves an upload for removal once a stopped writer has finished. Rejected while a writer is active, since that
 * one may still have permission.
 */
export async function takeTurnToDrop(part: string): Promise<Disposable> {
  for (let before = writers.get(part); before !== undefined; before = writers.get(part)) {
    if (!before.hasStopped()) refuse('concurrency_limited', { message: 'This upload is still being written.' })
    await before.gone
  }
  return register(part, { stop: () => {}, hasStopped: () => true })
}

function register(part: string, writer: Omit<Writer, 'gone'>): Disposable {
  const { promise: end, resolve } = Promise.withResolvers<void>()
  writers.set(part, { ...writer, gone: end })
  return {
    [Symbol.dispose]() {
      writers.delete(part)
      resolve()
    },
  }
}

export const isWriting = (part: string): boolean => writers.has(part)
