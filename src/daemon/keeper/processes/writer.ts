import { writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

const SHORTEST_MS = 1
const LONGEST_MS = 50

/**
 * Writes to a non-blocking descriptor and knows exactly how much was accepted. Node's streams don't report that,
 * and a hand-over needs it.
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

  get waiting(): number {
    return this.#bytes
  }

  /** Queues bytes; `written` resolves when all are accepted. */
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

  stop(): Buffer {
    this.#over = true
    const rest = Buffer.concat(this.#waiting)
    this.#waiting = []
    this.#bytes = 0
    return rest
  }

  async #writeOn(): Promise<void> {
    let pause = SHORTEST_MS
    // Waits first: if it finished synchronously, `#writing` would be assigned afterwards and never cleared.
    do {
      await sleep(pause)
      pause = Math.min(LONGEST_MS, pause * 2)
    } while (!this.#writeSome())
    this.#writing = null
  }

  #writeSome(): boolean {
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      try {
        const length = writeSync(this.#descriptor, first)
        this.#bytes -= length
        if (length === first.length) this.#waiting.shift()
        else this.#waiting[0] = first.subarray(length)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return false
        this.stop()
      }
    }
    return true
  }
}
