import { closeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { CHANNEL } from '#daemon-protocol/channels.ts'
import type { Incoming, Stream } from '#packages/mux/stream.ts'
import { Writer } from '../processes/writer.ts'

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

  /** The number of bytes received. A caller that lost its link resumes here. */
  get arrived(): number {
    return this.#arrived
  }
  get finished(): boolean {
    return this.#finished
  }

  /** Reads a stream to its end. A broken stream leaves stdin open. */
  async take(stream: Stream): Promise<void> {
    for await (const incoming of stream) {
      if (incoming.type === 'finished') return this.finish()
      if (!this.#take(incoming)) return stream.reset('stdin continues at an offset that was never reached')
      await this.#writer.written()
    }
  }

  /**
   * Accepts one call's bytes and leaves stdin open. Resolves when the command has read them or after `mostMs`.
   * False if some weren't accepted.
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
      // Waits until earlier bytes are read, or repeated calls would fill the memory.
      while (this.#writer.waiting > 0) if ((await Promise.race([this.#writer.written(), late])) === 'late') return false
      if (!this.#take(next.value)) return false
    }
  }

  /** False if there is a gap before these bytes. */
  #take(incoming: Incoming): boolean {
    if (incoming.type !== 'bytes' || incoming.channel !== CHANNEL.stdin || this.#finished) return true
    if (incoming.offset > this.#arrived) return false
    // Skips bytes that already arrived over another link.
    const bytes = incoming.bytes.subarray(Math.max(0, this.#arrived - incoming.offset))
    this.#arrived += bytes.length
    this.#writer.write(bytes)
    return true
  }

  finish(): void {
    if (this.#finished) return
    this.#finished = true
    void this.#writer.written().then(() => this.close())
  }

  stop(): Buffer {
    return this.#writer.stop()
  }

  resume(rest: Buffer, finished: boolean): void {
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
