import { Ring } from '../ring.ts'

export interface Size {
  cols: number
  rows: number
}
/** The terminal's size from offset `at` on. */
export type Mark = Size & { at: number }

/** Covers a link that was down for a while. */
const KEPT = 2 * 1_048_576

export class TerminalLog {
  #ring: Ring
  #marks: Mark[]
  #waiting = new Set<() => void>()

  constructor(marks: readonly Mark[], at = 0) {
    this.#ring = new Ring(KEPT, at)
    this.#marks = [...marks]
  }

  get ring(): Ring {
    return this.#ring
  }

  clear(): void {
    this.#ring = new Ring(KEPT, this.#ring.end)
  }

  get size(): Size {
    const { cols, rows } = this.#marks.at(-1)!
    return { cols, rows }
  }

  get marks(): readonly Mark[] {
    return this.#marks
  }

  push(bytes: Uint8Array): void {
    this.#ring.push(bytes)
    this.wake()
  }

  resize(size: Size): void {
    const at = this.ring.end
    const marks = this.#marks.filter((mark) => mark.at !== at)
    // The last dropped mark still applies to the first kept byte.
    const first = marks.findLastIndex((mark) => mark.at <= this.ring.start)
    this.#marks = [...marks.slice(Math.max(0, first)), { ...size, at }]
    this.wake()
  }

  sizeAt(offset: number): { size: Size; until: number } {
    const index = Math.max(
      0,
      this.#marks.findLastIndex((mark) => mark.at <= offset),
    )
    const { cols, rows } = this.#marks[index]!
    return { size: { cols, rows }, until: this.#marks[index + 1]?.at ?? Infinity }
  }

  /** Resolves on new output, a new size, the end, `ms` or an abort. */
  async change(signal: AbortSignal, ms?: number): Promise<void> {
    if (signal.aborted) return
    await new Promise<void>((resolve) => {
      const finish = (): void => {
        clearTimeout(timer)
        this.#waiting.delete(finish)
        signal.removeEventListener('abort', finish)
        resolve()
      }
      const timer = ms === undefined ? undefined : setTimeout(finish, ms)
      this.#waiting.add(finish)
      signal.addEventListener('abort', finish)
    })
  }

  wake(): void {
    for (const go of this.#waiting) go()
  }
}
