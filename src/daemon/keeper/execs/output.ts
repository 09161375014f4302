import net from 'node:net'
import type { Channel } from '#daemon-protocol/operations.ts'
import type { Stream } from '#daemon-protocol/stream.ts'
import { Ring } from '../ring.ts'

/** The most unread bytes: beyond them the program waits. */
const UNREAD = 1_048_576
/** The most bytes that are kept, read or not: more than can be under way to a caller whose link broke. */
const KEPT = 4 * 1_048_576
const PART = 65_536

/** An output of a command. */
export class Output {
  readonly ring: Ring
  /** Up to here it was read by somebody. */
  #taken: number
  #socket: net.Socket | null
  #limit = UNREAD
  #waiting: (() => void)[] = []
  /** The command, and all that it started, have closed it. */
  readonly ended: Promise<void>

  /** `descriptor` null: it was closed before. */
  constructor(descriptor: number | null, from: Ring = new Ring(KEPT), taken = 0) {
    this.ring = from
    this.#taken = taken
    if (descriptor === null) {
      this.#socket = null
      this.ended = Promise.resolve()
      return
    }
    const socket = (this.#socket = new net.Socket({ fd: descriptor, readable: true, writable: false }))
    if (from.end - taken >= this.#limit) socket.pause()
    socket.on('data', (bytes: Buffer) => this.#came(bytes))
    socket.on('error', () => {})
    this.ended = new Promise((resolve) =>
      socket.once('close', () => {
        this.#socket = null
        this.#tell()
        resolve()
      }),
    )
  }

  get isOpen(): boolean {
    return this.#socket !== null
  }

  get taken(): number {
    return this.#taken
  }

  /** Writes all from `from` on, as it comes, until the output has ended. `paces`: the program waits for who reads it. */
  async send(stream: Stream, channel: Channel, from: number, paces = true): Promise<void> {
    for (let at = from; ;) {
      at = Math.max(at, this.ring.start)
      if (paces) this.#take(at)
      const part = this.ring.read(at, PART)
      if (part.length > 0) {
        await stream.write(part, channel, at)
        at += part.length
      } else if (this.#socket === null) return
      else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
  }

  /** Reads on whether anybody takes it or not: the program is gone, and what is left is little. */
  unlimited(): void {
    this.#limit = Infinity
    this.#socket?.resume()
  }

  /** Stands still for another keeper: what was read is in the ring, the rest stays in the pipe. */
  stop(): void {
    this.#limit = -1
    this.#socket?.pause()
    // What was read of it comes as `data` at once.
    this.#socket?.read()
  }

  close(): void {
    this.#socket?.destroy()
  }

  #came(bytes: Buffer): void {
    this.ring.push(bytes)
    if (this.ring.end - this.#taken >= this.#limit) this.#socket?.pause()
    this.#tell()
  }

  #take(offset: number): void {
    if (offset <= this.#taken) return
    this.#taken = offset
    if (this.#socket?.isPaused() && this.ring.end - offset < this.#limit / 2) this.#socket.resume()
  }

  #tell(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const go of waiting) go()
  }
}
