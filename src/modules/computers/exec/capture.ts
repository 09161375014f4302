import { ByteCollector } from './byte-collector.ts'
import type { OutputChannel } from './run-exec.ts'

/** Per channel, in bytes. */
export const MAX_BYTES = 8 * 1_048_576

export interface Captured {
  bytes: Buffer
  truncated: boolean
}

export interface Capture {
  add(channel: OutputChannel, offset: number, bytes: Uint8Array): void
  /** `size`: the channel's total bytes. */
  of(channel: OutputChannel, size: number): Captured
}

/** `both_ends` keeps half from the start and half from the end. */
export function createCapture(maxBytes = MAX_BYTES, keep: 'first' | 'both_ends' = 'first'): Capture {
  const room =
    keep === 'first' ? { head: maxBytes, tail: 0 } : { head: Math.floor(maxBytes / 2), tail: Math.ceil(maxBytes / 2) }
  const channels = { stdout: createChannelCapture(room), stderr: createChannelCapture(room) }
  return {
    add: (channel, offset, bytes) => channels[channel].add(offset, bytes),
    of: (channel, size) => channels[channel].result(size),
  }
}

function createChannelCapture(room: { head: number; tail: number }) {
  const head = new ByteCollector()
  let tail = new ByteCollector()
  let receivedBytes = 0
  let hasGap = false
  return {
    add(offset: number, bytes: Uint8Array): void {
      // Output is missing before this part.
      hasGap ||= offset > receivedBytes
      receivedBytes = offset + bytes.length
      const first = bytes.subarray(0, room.head - head.size)
      head.add(first)
      if (room.tail === 0 || first.length === bytes.length) return
      tail.add(bytes.subarray(first.length))
      // Trimming every part would copy the tail for each byte.
      if (tail.size <= 2 * room.tail) return
      const end = tail.bytes().subarray(-room.tail)
      tail = new ByteCollector()
      tail.add(end)
    },
    result(size: number): Captured {
      const end = tail.bytes().subarray(-room.tail || undefined)
      const omittedBytes = receivedBytes - head.size - (room.tail === 0 ? 0 : end.length)
      const parts =
        room.tail === 0
          ? [head.bytes()]
          : omittedBytes > 0
            ? [head.bytes(), Buffer.from(`\n[${omittedBytes} bytes were left out here]\n`), end]
            : [head.bytes(), end]
      return { bytes: Buffer.concat(parts), truncated: hasGap || omittedBytes > 0 || receivedBytes < size }
    },
  }
}

/** The length of an incomplete UTF-8 character at the end. */
export function incompleteBytes(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back]!
    if (byte < 0x80) return 0
    if (byte >= 0xc0) return (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) > back ? back : 0
  }
  return 0
}

export interface Text {
  text: string
  /** The position of the first byte. */
  offset: number
  bytes: Buffer
}

/** Incomplete characters wait for the next chunk. */
export function createTextCutter() {
  let pending = Buffer.alloc(0)
  let at = 0
  const emit = (bytes: Buffer): Text | null => {
    if (bytes.length === 0) return null
    const offset = at
    at += bytes.length
    return { text: bytes.toString('utf8'), offset, bytes }
  }
  return {
    add(offset: number, bytes: Uint8Array): Text | null {
      if (offset !== at + pending.length) {
        // After a gap, nothing completes the held bytes.
        pending = Buffer.alloc(0)
        at = offset
      }
      const all = Buffer.concat([pending, bytes])
      const whole = all.length - incompleteBytes(all)
      pending = all.subarray(whole)
      return emit(all.subarray(0, whole))
    },
    end: (): Text | null => emit(pending),
  }
}
