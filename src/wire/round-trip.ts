/** Measured so often at least, one after another: the first time both ends are just beginning. */
const MEASURED = 4

/** How long a link takes there and back, as its pings and pongs tell. */
export class RoundTrip {
  /** The shortest that was measured; 0: none yet. */
  ms = 0
  #pings = 0
  /** When the ping that is on its way was sent. */
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
