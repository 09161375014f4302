import type { Incoming } from './stream.ts'
import type { Window } from './window.ts'

/** Shorter messages are copied when queued, since a view would keep its whole buffer in memory. */
const SHORT = 4_096

type Next = IteratorResult<Incoming, undefined>

/** Received messages of a stream. Requesting the next message confirms the previous one. */
export class Inbox implements AsyncIterator<Incoming, undefined> {
  readonly #window: Window
  readonly #grant: (bytes: number) => void
  #items: Incoming[] = []
  #costs: number[] = []
  #waiter: { resolve(next: Next): void; reject(error: Error): void } | null = null
  /** The cost of the last delivered message. */
  #cost = 0
  /** Why the stream closed: an error, or null for a regular end. */
  #end: { error: Error | null } | null = null

  constructor(window: Window, grant: (bytes: number) => void) {
    this.#window = window
    this.#grant = grant
  }

  /** `cost`: the credit it uses. 0 for messages sent once, which need none. */
  put(item: Incoming, cost: number): void {
    if (cost > 0) this.#window.arrive(cost)
    if (this.#end !== null) return
    const waiter = this.#waiter
    if (waiter !== null) {
      this.#waiter = null
      this.#cost = cost
      return waiter.resolve({ value: item, done: false })
    }
    this.#items.push(
      item.type === 'bytes' && item.bytes.length < SHORT ? { ...item, bytes: Uint8Array.from(item.bytes) } : item,
    )
    this.#costs.push(cost)
  }

  next(): Promise<Next> {
    if (this.#cost > 0) {
      const credit = this.#window.take(this.#cost, this.#items.length === 0)
      this.#cost = 0
      if (credit > 0) this.#grant(credit)
    }
    const value = this.#items.shift()
    if (value !== undefined) {
      this.#cost = this.#costs.shift()!
      return Promise.resolve({ value, done: false })
    }
    if (this.#end === null) return new Promise((resolve, reject) => (this.#waiter = { resolve, reject }))
    return this.#end.error === null ? Promise.resolve(DONE) : Promise.reject(this.#end.error)
  }

  /** Closes the inbox. An error drops unread messages. */
  close(error: Error | null): void {
    if (this.#end !== null) return
    this.#end = { error }
    this.#window.close()
    if (error !== null) {
      this.#items = []
      this.#costs = []
    }
    if (error === null) this.#waiter?.resolve(DONE)
    else this.#waiter?.reject(error)
    this.#waiter = null
  }
}

const DONE: Next = { value: undefined, done: true }
