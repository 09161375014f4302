/** Bytes on their way to a computer: kept from when they come until the computer says that it has them. */
export interface Replay {
  /**
   * The bytes at an offset: kept ones, or the next of the source once there is room. Null: the end. Throws what the
   * source throws.
   */
  at(offset: number): Promise<Uint8Array | null>
  /** Says that the computer has all before this offset. */
  acknowledge(offset: number): void
  /** Says that nobody asks for more. */
  close(): void
  /** The offsets of the bytes that are kept, and may be asked for. */
  readonly kept: { from: number; to: number }
  /** Whether reading from the source waits until the computer acknowledges more. */
  readonly isFull: boolean
}

/** The most bytes that are kept: beyond them the source waits. */
const MOST_KEPT = 4 << 20

export function replayOf(source: AsyncIterable<Uint8Array>, begin: number): Replay {
  const bytes = source[Symbol.asyncIterator]()
  let parts: { at: number; bytes: Uint8Array }[] = []
  let from = begin
  let to = begin
  let ended = false
  /** The read of the source that is under way: one at a time, whoever waits for it. */
  let pulling: Promise<void> | null = null
  let wake = Promise.withResolvers<void>()

  const isFull = (): boolean => to - from >= MOST_KEPT
  async function pull(): Promise<void> {
    while (isFull()) await wake.promise
    const next = await bytes.next()
    if (next.done) return void (ended = true)
    // A part of the source holds only until the next.
    parts.push({ at: to, bytes: Uint8Array.from(next.value) })
    to += next.value.length
  }

  return {
    get kept() {
      return { from, to }
    },
    get isFull() {
      return isFull()
    },
    async at(offset) {
      while (offset === to && !ended) await (pulling ??= pull().finally(() => (pulling = null)))
      if (offset === to) return null
      const part = parts.findLast(({ at }) => at <= offset)
      if (part === undefined || offset < from) throw new RangeError('these bytes are no longer kept')
      return part.bytes.subarray(offset - part.at)
    },
    close() {
      // A read that is under way ends by itself, or with its caller.
      void bytes.return?.().catch(() => {})
    },
    acknowledge(offset) {
      if (offset <= from) return
      from = Math.min(offset, to)
      const first = parts.findIndex(({ at, bytes }) => at + bytes.length > from)
      for (const { bytes } of first < 0 ? parts : parts.slice(0, first)) free(bytes)
      parts = first < 0 ? [] : parts.slice(first)
      wake.resolve()
      wake = Promise.withResolvers<void>()
    },
  }
}

/** Gives back memory that nobody reads any more: left to the collector, a large file would pile up first. */
function free({ buffer }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && !buffer.detached) buffer.transfer(0)
}
