import type { Stream } from '#daemon-protocol/stream.ts'

interface Writer {
  stop(): void
  gone: Promise<void>
}
const writers = new Map<string, Writer>()

/**
 * The turn to write to an upload, by the path of its part. It has one writer: who goes on with it ends the one before, whose
 * link may have broken without anybody having noticed here.
 */
export async function takeTurn(part: string, stream: Stream, signal: AbortSignal): Promise<Disposable> {
  // A sender that left before its turn may have begun anew: that one keeps it.
  signal.throwIfAborted()
  for (let before = writers.get(part); before !== undefined; before = writers.get(part)) {
    before.stop()
    await before.gone
    signal.throwIfAborted()
  }
  const { promise: gone, resolve } = Promise.withResolvers<void>()
  writers.set(part, { stop: () => stream.reset('another one goes on with this upload'), gone })
  return {
    [Symbol.dispose]() {
      writers.delete(part)
      resolve()
    },
  }
}

export const isWriting = (part: string): boolean => writers.has(part)
