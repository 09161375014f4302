export class TooMuchWork extends Error {
  override name = 'TooMuchWork'
}

/** Steps between two `look` calls: well under a millisecond of work. */
const LOOK_STEPS = 16_384

/**
 * Counts a matcher's steps and stops it at a limit, so any pattern on any text has bounded cost. A step takes about 10
 * ns.
 */
export class Work {
  spent = 0
  readonly #most: number
  readonly #look: (() => void) | undefined
  #next: number

  /** `look` is called periodically and may throw, for canceled calls and deadlines. */
  constructor(most: number, look?: () => void) {
    this.#most = most
    this.#look = look
    this.#next = Math.min(most, LOOK_STEPS)
  }

  spend(steps: number): void {
    this.spent += steps
    if (this.spent > this.#next) this.#stop()
  }

  look(): void {
    this.#look?.()
  }

  #stop(): void {
    if (this.spent > this.#most) throw new TooMuchWork('The pattern takes too long to match. Use a simpler one.')
    this.#next = Math.min(this.#most, this.spent + LOOK_STEPS)
    this.look()
  }
}
