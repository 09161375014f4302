import { Violation } from './frames.ts'

/** A frame's bookkeeping, in bytes of credit: else a sender of many tiny frames could make a reader keep much more. */
export const FRAME_COST = 256
/** The credit that each end of a new stream has. */
export const FIRST_WINDOW = 65_536
/** Up to here a window doubles while its reader is quick. */
const QUICK_WINDOW = 262_144
/** Up to here it doubles where the link is so long that less would leave it empty. */
const LARGEST_WINDOW = 4_194_304
/** A reader that takes half a window in this time is quick, ms. */
const QUICK = 100
/**
 * The least time over which a reader's speed is measured, or one round trip, ms: within one turn of its event loop all
 * comes at once.
 */
const LEAST_SPAN = 5

/** The part of a link that windows share. */
export interface Budget {
  /** Reserves growth of windows, if there is room. `release` gives it back. */
  reserve(bytes: number): boolean
  release(bytes: number): void
  /** The shortest time that the link took there and back, ms. */
  roundTrip(): number
  now(): number
}

/** The amount that the other end of a stream may send: more when the reader took what came, at half a window. */
export class Window {
  readonly #budget: Budget
  #size = FIRST_WINDOW
  #left = FIRST_WINDOW
  #taken = 0
  #since: number
  /** The bytes that were taken since the speed was last measured. */
  #span = { bytes: 0, since: 0 }

  constructor(budget: Budget) {
    this.#budget = budget
    this.#since = this.#span.since = budget.now()
  }

  /** A frame came. One may go beyond what is left, none may come once nothing is left. */
  arrive(cost: number): void {
    if (this.#left <= 0) throw new Violation('a stream sends beyond its credit')
    this.#left -= cost
  }

  /** The reader took it. Answers the credit to give now; 0: later. `waits`: the reader has nothing left to read. */
  take(cost: number, waits: boolean): number {
    this.#taken += cost
    if (this.#taken * 2 < this.#size) return 0
    const now = this.#budget.now()
    this.#span.bytes += this.#taken
    const grown = waits ? this.#growth(now) : 0
    this.#since = now
    const credit = this.#taken + grown
    this.#size += grown
    this.#left += credit
    this.#taken = 0
    return credit
  }

  #growth(now: number): number {
    const size = this.#size
    const wanted = size < QUICK_WINDOW ? now - this.#since < QUICK : size < LARGEST_WINDOW && this.#isTooShort(now)
    return wanted && this.#budget.reserve(size) ? size : 0
  }

  /** The reader takes more in one round trip than half of it. What is beyond that only waits, and before keys of others. */
  #isTooShort(now: number): boolean {
    const roundTrip = this.#budget.roundTrip()
    const { bytes, since } = this.#span
    const ms = now - since
    if (ms < Math.max(roundTrip, LEAST_SPAN)) return false
    this.#span = { bytes: 0, since: now }
    return (bytes / ms) * roundTrip * 2 > this.#size
  }

  close(): void {
    this.#budget.release(this.#size - FIRST_WINDOW)
    this.#size = FIRST_WINDOW
  }
}

/** The way there and back is measured so often at least, one after another: the first time both ends are just beginning. */
const MEASURED = 4

/** The round trip time of a link, as its pings and pongs tell. */
export class RoundTrip {
  /** The shortest that was measured; 0: none yet. */
  ms = 0
  #pings = 0
  /** The time when the ping that is on its way was sent. */
  #sentAt: number | null = null
  #measured = 0

  /** A ping leaves. Answers its number. */
  begin(now: number): number {
    this.#sentAt = now
    return ++this.#pings
  }

  /** A pong of this number came. Answers whether to measure again. */
  end(number: number, now: number): boolean {
    if (number !== this.#pings || this.#sentAt === null) return false
    const time = now - this.#sentAt
    this.#sentAt = null
    this.ms = this.ms === 0 ? time : Math.min(this.ms, time)
    return ++this.#measured < MEASURED
  }
}
