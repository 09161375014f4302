import { writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

const SHORTEST_MS = 1
const LONGEST_MS = 50

/**
 * Writes to a descriptor that does not wait, and knows at each moment how much the program has: what Node's own streams have
 * handed to the system, nobody could tell a keeper that takes this one's place.
 */
export class Writer {
  readonly #descriptor: number
  #waiting: Buffer[] = []
  #bytes = 0
  #writing: Promise<void> | null = null
  #over = false

  constructor(descriptor: number) {
    this.#descriptor = descriptor
  }

  /** Bytes that the program has not taken yet. */
  get waiting(): number {
    return this.#bytes
  }

  /** Writes bytes behind those that were written before; `written` tells when all are through. */
  write(bytes: Uint8Array): void {
    if (this.#over || bytes.length === 0) return
    this.#waiting.push(Buffer.from(bytes))
    this.#bytes += bytes.length
    if (this.#writing) return
    if (!this.#writeSome()) this.#writing = this.#writeOn()
  }

  async written(): Promise<void> {
    await this.#writing
  }

  /** Stops, and answers the bytes that still wait and will not be written. */
  stop(): Buffer {
    this.#over = true
    const rest = Buffer.concat(this.#waiting)
    this.#waiting = []
    this.#bytes = 0
    return rest
  }

  async #writeOn(): Promise<void> {
    let pause = SHORTEST_MS
    // Waits first: what was over before `#writing` names it would be taken to go on for ever.
    do {
      await sleep(pause)
      pause = Math.min(LONGEST_MS, pause * 2)
    } while (!this.#writeSome())
    this.#writing = null
  }

  /** Whether nothing is left to write. */
  #writeSome(): boolean {
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      try {
        const length = writeSync(this.#descriptor, first)
        this.#bytes -= length
        if (length === first.length) this.#waiting.shift()
        else this.#waiting[0] = first.subarray(length)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return false
        // Nobody reads any more.
        this.stop()
      }
    }
    return true
  }
}
