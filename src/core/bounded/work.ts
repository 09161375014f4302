/** The work allowed for one text or path is used up. */
export class TooMuchWork extends Error {
  override name = 'TooMuchWork'
}

/** Steps between two looks at whether to stop: well under a millisecond of work. */
const LOOK_STEPS = 16_384

/**
 * Counts the steps of a matcher and stops it at a limit, so that any pattern on any text costs a bounded amount of
 * work. A step takes about 10 ns.
 */
export class Work {
  spent = 0
  readonly #most: number
  readonly #look: (() => void) | undefined
  #next: number

  /** `look` is called every now and then and may throw: for canceled calls and clocks. */
  constructor(most: number, look?: () => void) {
    this.#most = most
    this.#look = look
    this.#next = Math.min(most, LOOK_STEPS)
  }

  /** Throws `TooMuchWork`, or what `look` throws. */
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
