import net from 'node:net'
import type { Channel } from '#daemon-protocol/operations.ts'
import type { Stream } from '#packages/mux/stream.ts'
import { Ring } from '../ring.ts'

/** The limit of unread bytes, above which the program waits. */
const UNREAD = 1_048_576
/** The limit of kept bytes: more than can be in flight to a caller whose link broke. */
const KEPT = 4 * 1_048_576
const PART = 65_536

export class Output {
  readonly ring: Ring
  #readUpTo: number
  #socket: net.Socket | null
  #limit = UNREAD
  #waiting: (() => void)[] = []
  readonly ended: Promise<void>

  /** `descriptor` is null if it was closed before. */
  constructor(descriptor: number | null, from: Ring = new Ring(KEPT), taken = 0) {
    this.ring = from
    this.#readUpTo = taken
    if (descriptor === null) {
      this.#socket = null
      this.ended = Promise.resolve()
      return
    }
    const socket = (this.#socket = new net.Socket({ fd: descriptor, readable: true, writable: false }))
    if (from.end - taken >= this.#limit) socket.pause()
    socket.on('data', (bytes: Buffer) => this.#receive(bytes))
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
    return this.#readUpTo
  }

  /** Sends everything from `from` on until the output ends. `paces`: this reader exerts backpressure on the program. */
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

  /** Reads the rest regardless of readers: the program has exited, so little is left. */
  unlimited(): void {
    this.#limit = Infinity
    this.#socket?.resume()
  }

  /** Pauses for a hand-over: the ring has what was read, and the pipe the rest. */
  stop(): void {
    this.#limit = -1
    this.#socket?.pause()
    // Flushes what was read but not yet emitted as `data`.
    this.#socket?.read()
  }

  close(): void {
    this.#socket?.destroy()
  }

  #receive(bytes: Buffer): void {
    this.ring.push(bytes)
    if (this.ring.end - this.#readUpTo >= this.#limit) this.#socket?.pause()
    this.#tell()
  }

  #take(offset: number): void {
    if (offset <= this.#readUpTo) return
    this.#readUpTo = offset
    if (this.#socket?.isPaused() && this.ring.end - offset < this.#limit / 2) this.#socket.resume()
  }

  #tell(): void {
    const waiters = this.#waiting
    this.#waiting = []
    for (const go of waiters) go()
  }
}
