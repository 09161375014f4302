/** Buffers upload bytes until the computer acknowledges them. */
export interface Replay {
  /** Returns the bytes at an offset. Null: the end. Rethrows source errors. */
  at(offset: number): Promise<Uint8Array | null>
  /** Frees everything before `offset`. */
  acknowledge(offset: number): void
  close(): void
  /** The range of offsets in the buffer. */
  readonly buffered: { from: number; to: number }
  /** Whether reading waits for an acknowledgment. */
  readonly isFull: boolean
}

const MAX_BUFFERED_BYTES = 4 << 20

export function createReplay(source: AsyncIterable<Uint8Array>, start: number): Replay {
  const bytes = source[Symbol.asyncIterator]()
  let parts: { at: number; bytes: Uint8Array }[] = []
  let from = start
  let to = start
  let isAtEnd = false
  /** The pending read, shared by all waiters. */
  let pulling: Promise<void> | null = null
  let wake = Promise.withResolvers<void>()

  const isFull = (): boolean => to - from >= MAX_BUFFERED_BYTES
  async function pull(): Promise<void> {
    while (isFull()) await wake.promise
    const next = await bytes.next()
    if (next.done) return void (isAtEnd = true)
    // The source may reuse its buffer after the next read.
    parts.push({ at: to, bytes: Uint8Array.from(next.value) })
    to += next.value.length
  }

  return {
    get buffered() {
      return { from, to }
    },
    get isFull() {
      return isFull()
    },
    async at(offset) {
      while (offset === to && !isAtEnd) await (pulling ??= pull().finally(() => (pulling = null)))
      if (offset === to) return null
      const part = parts.findLast(({ at }) => at <= offset)
      if (part === undefined || offset < from) throw new RangeError('these bytes are no longer kept')
      return part.bytes.subarray(offset - part.at)
    },
    close() {
      // A pending read ends with its caller.
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

/** Left to the garbage collector, large files would pile up. */
function free({ buffer }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && !buffer.detached) buffer.transfer(0)
}
