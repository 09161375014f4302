import type { Socket } from 'node:net'
import { LARGEST_FRAME } from './frames.ts'
import { CLOSE, type Mux, type Pipe } from './mux.ts'

const PREFIX = 4

/** A link over a socket: each frame is preceded by its length as a u32. */
export function overSocket<M extends Mux>(socket: Socket, create: (pipe: Pipe) => M): M {
  const mux: M = create({
    send(frame, sent) {
      const length = Buffer.allocUnsafe(PREFIX)
      length.writeUInt32BE(frame.length)
      socket.cork()
      socket.write(length)
      socket.write(frame, () => {
        sent?.()
        mux.flush()
      })
      socket.uncork()
    },
    get bufferedAmount() {
      return socket.writableLength
    },
    // `destroySoon` sends pending data first, such as the reason.
    close: () => socket.destroySoon(),
  })
  const read = unprefix((frame) => mux.receive(frame))
  socket.on('data', (bytes: Buffer) => {
    if (!mux.closed && !read(bytes)) mux.close(CLOSE.violation, 'a frame is too long')
  })
  socket.on('error', () => {}).on('close', () => mux.lost())
  return mux
}

/** Splits bytes into frames. Returns false for an invalid length. */
export function unprefix(take: (frame: Buffer) => void): (bytes: Buffer) => boolean {
  /** The incomplete frame and, below, its incomplete length. */
  let partial: Buffer | null = null
  let filled = 0
  const length = Buffer.alloc(PREFIX)
  let lengthFilled = 0
  return (bytes) => {
    let at = 0
    while (at < bytes.length) {
      if (partial === null) {
        while (lengthFilled < PREFIX && at < bytes.length) length[lengthFilled++] = bytes[at++]!
        if (lengthFilled < PREFIX) return true
        lengthFilled = 0
        const size = length.readUInt32BE()
        if (size === 0 || size > LARGEST_FRAME) return false
        if (bytes.length - at >= size) {
          take(bytes.subarray(at, (at += size)))
          continue
        }
        partial = Buffer.allocUnsafe(size)
        filled = 0
      }
      const part = bytes.subarray(at, at + partial.length - filled)
      partial.set(part, filled)
      filled += part.length
      at += part.length
      if (filled < partial.length) return true
      const frame = partial
      partial = null
      take(frame)
    }
    return true
  }
}
