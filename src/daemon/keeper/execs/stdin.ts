import { closeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { CHANNEL } from '#daemon-protocol/channels.ts'
import type { Incoming, Stream } from '#daemon-protocol/stream.ts'
import { Writer } from '../processes/writer.ts'

/** The bytes that a command reads, from whichever call they come. */
export class Stdin {
  readonly #descriptor: number
  readonly #writer: Writer
  #arrived: number
  #finished = false
  #closed = false

  constructor(descriptor: number, arrived = 0) {
    this.#descriptor = descriptor
    this.#writer = new Writer(descriptor)
    this.#arrived = arrived
  }

  /** The number of bytes that have come; a caller that lost its link goes on from there. */
  get arrived(): number {
    return this.#arrived
  }
  get finished(): boolean {
    return this.#finished
  }

  /** Takes what comes on a stream until that ends; a broken one leaves the command's input open. */
  async take(stream: Stream): Promise<void> {
    for await (const incoming of stream) {
      if (incoming.type === 'finished') return this.finish()
      if (!this.#take(incoming)) return stream.reset('stdin continues at an offset that was never reached')
      await this.#writer.written()
    }
  }

  /**
   * Takes what one of several calls brings, and leaves the input open; over when the command has it, or after that time. False:
   * not all of it was taken.
   */
  async takePart(stream: Stream, mostMs: number): Promise<boolean> {
    const late = sleep(mostMs, 'late' as const)
    const parts = stream[Symbol.asyncIterator]()
    for (;;) {
      const next = await Promise.race([parts.next(), late])
      if (next === 'late') return false
      if (next.done || next.value.type === 'finished') {
        await Promise.race([this.#writer.written(), late])
        return true
      }
      // Nothing comes on top of what the command has not read: call after call would fill the memory.
      while (this.#writer.waiting > 0) if ((await Promise.race([this.#writer.written(), late])) === 'late') return false
      if (!this.#take(next.value)) return false
    }
  }

  /** False: it begins behind what has arrived. */
  #take(incoming: Incoming): boolean {
    if (incoming.type !== 'bytes' || incoming.channel !== CHANNEL.stdin || this.#finished) return true
    if (incoming.offset > this.#arrived) return false
    // Bytes that came over another link already come again when the caller didn't know.
    const bytes = incoming.bytes.subarray(Math.max(0, this.#arrived - incoming.offset))
    this.#arrived += bytes.length
    this.#writer.write(bytes)
    return true
  }

  /** The command reads its end once it has read the rest. */
  finish(): void {
    if (this.#finished) return
    this.#finished = true
    void this.#writer.written().then(() => this.close())
  }

  /** Stops, and answers the bytes that the command has not read yet. */
  stop(): Buffer {
    return this.#writer.stop()
  }

  /** Bytes that were left when another keeper stopped. */
  goOn(rest: Buffer, finished: boolean): void {
    this.#writer.write(rest)
    if (finished) this.finish()
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#writer.stop()
    closeSync(this.#descriptor)
  }
}
