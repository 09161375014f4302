import { Violation } from './frames.ts'

/** The credit each frame costs besides its bytes. Otherwise many tiny frames could use far more memory. */
export const FRAME_COST = 256
/** The initial credit of each end. */
export const FIRST_WINDOW = 65_536
/** A quick reader's window doubles up to this size. */
const QUICK_WINDOW = 262_144
/** On a link with a long round trip it doubles up to this size. */
const LARGEST_WINDOW = 4_194_304
/** A reader is quick if it reads half a window within this time, in ms. */
const QUICK = 100
/**
 * The minimum time over which read speed is measured, or one round trip if longer, in ms. Within one turn of the
 * event loop everything arrives at once.
 */
const MIN_SPAN = 5

/** Shared by all windows of a link. */
export interface Budget {
  /** Reserves memory for window growth, if available. `release` returns it. */
  reserve(bytes: number): boolean
  release(bytes: number): void
  /** The shortest measured round trip, in ms. */
  roundTrip(): number
  now(): number
}

/** Flow control for one end of a stream: grants new credit once half a window has been read. */
export class Window {
  readonly #budget: Budget
  #size = FIRST_WINDOW
  #credit = FIRST_WINDOW
  #unreported = 0
  #since: number
  /** Bytes read since the last speed measurement. */
  #span = { bytes: 0, since: 0 }

  constructor(budget: Budget) {
    this.#budget = budget
    this.#since = this.#span.since = budget.now()
  }

  /** Counts an arriving frame. The last may exceed the credit. */
  arrive(cost: number): void {
    if (this.#credit <= 0) throw new Violation('a stream sends beyond its credit')
    this.#credit -= cost
  }

  /** Counts a read frame. Returns the credit to grant now; 0: later. `waits`: the reader has nothing left to read. */
  take(cost: number, waits: boolean): number {
    this.#unreported += cost
    if (this.#unreported * 2 < this.#size) return 0
    const now = this.#budget.now()
    this.#span.bytes += this.#unreported
    const growth = waits ? this.#growth(now) : 0
    this.#since = now
    const credit = this.#unreported + growth
    this.#size += growth
    this.#credit += credit
    this.#unreported = 0
    return credit
  }

  #growth(now: number): number {
    const size = this.#size
    const shouldGrow = size < QUICK_WINDOW ? now - this.#since < QUICK : size < LARGEST_WINDOW && this.#isTooShort(now)
    return shouldGrow && this.#budget.reserve(size) ? size : 0
  }

  /**
   * Whether the reader reads more than half a window per round trip. A larger window would only queue, ahead of
   * others' keystrokes.
   */
  #isTooShort(now: number): boolean {
    const roundTrip = this.#budget.roundTrip()
    const { bytes, since } = this.#span
    const ms = now - since
    if (ms < Math.max(roundTrip, MIN_SPAN)) return false
    this.#span = { bytes: 0, since: now }
    return (bytes / ms) * roundTrip * 2 > this.#size
  }

  close(): void {
    this.#budget.release(this.#size - FIRST_WINDOW)
    this.#size = FIRST_WINDOW
  }
}

/** The minimum number of round trip measurements. The first is slow, since both ends are just starting. */
const MEASURED = 4

/** Measures a link's round trip time with pings. */
export class RoundTrip {
  /** The shortest measured time; 0: none yet. */
  ms = 0
  #pings = 0
  /** When the pending ping was sent. */
  #sentAt: number | null = null
  #measured = 0

  /** Records a ping and returns its number. */
  begin(now: number): number {
    this.#sentAt = now
    return ++this.#pings
  }

  /** Records a pong. Returns whether to measure again. */
  end(number: number, now: number): boolean {
    if (number !== this.#pings || this.#sentAt === null) return false
    const time = now - this.#sentAt
    this.#sentAt = null
    this.ms = this.ms === 0 ? time : Math.min(this.ms, time)
    return ++this.#measured < MEASURED
  }
}
