import { Ring } from '../ring.ts'

export interface Size {
  cols: number
  rows: number
}
/** From this offset on the terminal has this size. */
export type Mark = Size & { at: number }

/** Enough for a link that was gone for a while. */
const KEPT = 2 * 1_048_576

/** What a terminal put out, with the sizes that it had meanwhile. */
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

  /** Keeps nothing of what there was. */
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
    // Of those that are no longer kept, the last one still holds.
    const first = marks.findLastIndex((mark) => mark.at <= this.ring.start)
    this.#marks = [...marks.slice(Math.max(0, first)), { ...size, at }]
    this.wake()
  }

  /** The size at an offset, and where the next one begins. */
  sizeAt(offset: number): { size: Size; until: number } {
    const index = Math.max(
      0,
      this.#marks.findLastIndex((mark) => mark.at <= offset),
    )
    const { cols, rows } = this.#marks[index]!
    return { size: { cols, rows }, until: this.#marks[index + 1]?.at ?? Infinity }
  }

  /** The next bytes, size or end; or the time is up, or nobody waits any more. */
  async change(signal: AbortSignal, ms?: number): Promise<void> {
    if (signal.aborted) return
    await new Promise<void>((resolve) => {
      const done = (): void => {
        clearTimeout(timer)
        this.#waiting.delete(done)
        signal.removeEventListener('abort', done)
        resolve()
      }
      const timer = ms === undefined ? undefined : setTimeout(done, ms)
      this.#waiting.add(done)
      signal.addEventListener('abort', done)
    })
  }

  wake(): void {
    for (const go of this.#waiting) go()
  }
}
