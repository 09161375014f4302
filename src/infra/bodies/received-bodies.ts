import { setImmediate } from 'node:timers/promises'
import { refuse } from '#core/errors.ts'

/** Larger bodies of one account are read one at a time. */
const LARGE = 1 << 20

/**
 * Counts the bytes of request bodies in memory, per account and in total, and throws 429 above the limits. Limits apply
 * per process.
 */
export class ReceivedBodies {
  readonly #mostOfAccount: number
  readonly #most: number
  readonly #byAccount = new Map<string, number>()
  readonly #turns = new Map<string, Promise<void>>()
  #bytes = 0

  constructor({ account, process }: { account: number; process: number }) {
    this.#mostOfAccount = account
    this.#most = process
  }

  get bytes(): number {
    return this.#bytes
  }

  share(account: string): BodyShare {
    return new BodyShare(this, account)
  }

  add(account: string, bytes: number): void {
    const total = (this.#byAccount.get(account) ?? 0) + bytes
    if (total > this.#mostOfAccount)
      refuse('concurrency_limited', {
        message: `The bodies of your requests in progress exceed ${this.#mostOfAccount >> 20} MiB. Wait for some of them to finish, then retry.`,
        headers: { 'retry-after': '2' },
      })
    if (this.#bytes + bytes > this.#most)
      refuse('concurrency_limited', {
        message: `The bodies of all requests in progress exceed ${this.#most >> 20} MiB. Try again in a moment.`,
        headers: { 'retry-after': '5' },
      })
    this.#byAccount.set(account, total)
    this.#bytes += bytes
  }

  remove(account: string, bytes: number): void {
    this.#bytes -= bytes
    const total = (this.#byAccount.get(account) ?? 0) - bytes
    if (total > 0) this.#byAccount.set(account, total)
    else this.#byAccount.delete(account)
  }

  async turn(account: string): Promise<void> {
    const before = this.#turns.get(account)
    const mine = Promise.resolve(before).then(() => setImmediate())
    this.#turns.set(account, mine)
    void mine.then(() => this.#turns.get(account) === mine && this.#turns.delete(account))
    await before
  }
}

class BodyShare implements Disposable {
  readonly #all: ReceivedBodies
  readonly #account: string
  #bytes = 0

  constructor(all: ReceivedBodies, account: string) {
    this.#all = all
    this.#account = account
  }

  add(bytes: number): void {
    this.#all.add(this.#account, bytes)
    this.#bytes += bytes
  }

  turn(): Promise<void> | null {
    return this.#bytes < LARGE ? null : this.#all.turn(this.#account)
  }

  [Symbol.dispose](): void {
    this.#all.remove(this.#account, this.#bytes)
    this.#bytes = 0
  }
}

export const receivedBodies = new ReceivedBodies({ account: 128 << 20, process: 512 << 20 })
