import { Refusal } from '#core/errors.ts'

interface Waiter {
  since: number
  grant(): void
}

interface Share {
  taken: number
  waiting: Set<Waiter>
}

interface TurnsOptions {
  most: number
  /** How long a call waits before it is refused. */
  waitMs: number
  /** The same for background work, such as a run. */
  backgroundWaitMs: number
  isUndivided?: boolean
}

interface Wish {
  name: string
  signal: AbortSignal | null
  isHolding: boolean
  isBackground: boolean
}

/** Names whose statements read more than this many bytes on average are heavy. */
const HEAVY = 256 << 10
const MAX_OF_HEAVY = 2
/** The weight of the latest connection in the average. */
const LAST = 1 / 8
const MAX_WEIGHED = 10_000

/** Connections a call in a transaction leaves free when it needs another. */
const LEFT_TO_OTHERS = 2

/**
 * Distributes connections so that no name takes all. A name gets another one only while more are free than it has: the
 * first busy account gets half, the second a quarter, and a newcomer still finds one. A released one goes to the
 * waiting name with the fewest, then to the longest wait. Heavy readers get two.
 */
export class Turns {
  readonly #options: TurnsOptions
  readonly #shares = new Map<string, Share>()
  readonly #waitingNames = new Set<string>()
  readonly #weights = new Map<string, number>()
  #inUse = 0

  constructor(options: TurnsOptions) {
    this.#options = options
  }

  /**
   * Returns a release function, synchronously if a connection is free. Throws 429 or 503 after the wait. A call in a
   * transaction (`isHolding`) doesn't wait for its account's share, which may be waiting for it.
   */
  take({ name, signal, isHolding, isBackground }: Wish): (() => void) | Promise<() => void> {
    const share = this.#shareOf(name)
    const isNext = share.waiting.size === 0 && this.#mayTake(name, share)
    if (isNext || (isHolding && this.#inUse < this.#options.most - LEFT_TO_OTHERS)) return this.#give(name, share)
    const { waitMs, backgroundWaitMs } = this.#options
    return this.#wait(name, share, signal, isBackground ? backgroundWaitMs : waitMs)
  }

  #shareOf(name: string): Share {
    const share = this.#shares.get(name) ?? { taken: 0, waiting: new Set() }
    this.#shares.set(name, share)
    return share
  }

  noteRead(name: string, bytes: number): void {
    const before = this.#weights.get(name) ?? 0
    const weight = before + (bytes - before) * LAST
    this.#weights.delete(name)
    if (weight < HEAVY / 16) return
    this.#weights.set(name, weight)
    if (this.#weights.size > MAX_WEIGHED) this.#weights.delete(this.#weights.keys().next().value!)
  }

  #mayTake(name: string, { taken }: Share): boolean {
    if (taken >= MAX_OF_HEAVY && (this.#weights.get(name) ?? 0) > HEAVY) return false
    const free = this.#options.most - this.#inUse
    return this.#options.isUndivided === true ? free > 0 : taken < free
  }

  #give(name: string, share: Share): () => void {
    share.taken += 1
    this.#inUse += 1
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      share.taken -= 1
      this.#inUse -= 1
      this.#forgetIdle(name, share)
      this.#grantNext()
    }
  }

  #forgetIdle(name: string, share: Share): void {
    if (share.waiting.size === 0) this.#waitingNames.delete(name)
    if (share.taken === 0 && share.waiting.size === 0) this.#shares.delete(name)
  }

  #wait(name: string, share: Share, signal: AbortSignal | null, waitMs: number): Promise<() => void> {
    return new Promise((resolve, reject) => {
      const leave = (why: unknown): void => {
        stop()
        this.#forgetIdle(name, share)
        reject(why)
      }
      const timer = setTimeout(() => leave(refusalOf(share)), waitMs)
      const abort = (): void => leave(signal!.reason)
      const stop = (): void => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', abort)
        share.waiting.delete(waiter)
      }
      const waiter: Waiter = {
        since: performance.now(),
        grant: () => {
          stop()
          const release = this.#give(name, share)
          if (share.waiting.size === 0) this.#waitingNames.delete(name)
          resolve(release)
        },
      }
      share.waiting.add(waiter)
      this.#waitingNames.add(name)
      if (signal?.aborted) return abort()
      signal?.addEventListener('abort', abort)
    })
  }

  #grantNext(): void {
    for (;;) {
      let next: Share | null = null
      for (const name of this.#waitingNames) {
        const share = this.#shares.get(name)!
        if (this.#mayTake(name, share) && (next === null || comesBefore(share, next))) next = share
      }
      if (next === null) return
      firstOf(next).grant()
    }
  }
}

const firstOf = ({ waiting }: Share): Waiter => waiting.values().next().value!

const comesBefore = (one: Share, other: Share): boolean =>
  one.taken === other.taken ? firstOf(one).since < firstOf(other).since : one.taken < other.taken

/** A name with connections waits for its own; one without waits for others. */
const refusalOf = ({ taken }: Share): Refusal =>
  taken > 0
    ? new Refusal('concurrency_limited', {
        message: 'Your other requests are using all of your database connections. Wait for some of them to finish.',
        headers: { 'retry-after': '5' },
      })
    : new Refusal('unavailable', {
        message: 'The server is busy with requests from other accounts. Try again in a few seconds.',
        headers: { 'retry-after': '5' },
      })
