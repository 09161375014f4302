import { Connection, type Order } from './connection.ts'
import type { Connector, Wire } from './connector.ts'

/** How to connect, and how long an idle connection is kept. */
export interface LaneOptions {
  connect: Connector
  mostConnections: number
  idleSeconds: number
}

/** Orders that wait for a connection beyond the most there may be. */
const MOST_WAITING = 10_000
/** A server's own word for how long it keeps a connection is not trusted to the last second. */
const EARLIER_SECONDS = 2

/** All connections to one origin: an order takes the one that was free last, or a new one. */
export class Lane {
  readonly #host: string
  readonly #options: LaneOptions
  readonly #free: Connection[] = []
  readonly #all = new Set<Connection>()
  readonly #waiting: Order[] = []
  #connecting = 0
  #destroyed = false

  constructor(host: string, options: LaneOptions) {
    this.#host = host
    this.#options = options
  }

  get idle(): boolean {
    return this.#waiting.length === 0 && this.#connecting === 0 && this.#free.length === this.#all.size
  }

  dispatch(order: Order): void {
    const connection = this.#free.pop()
    if (connection !== undefined) {
      if (!connection.send(order)) this.#next(connection)
      return
    }
    if (this.#waiting.length >= MOST_WAITING) return fail(order, new Error(`too many calls wait for ${this.#host}`))
    this.#waiting.push(order)
    if (this.#all.size + this.#connecting < this.#options.mostConnections && this.#connecting < this.#waiting.length)
      this.#connect()
  }

  /** To be called every so many seconds. */
  turn(seconds: number): void {
    for (const connection of this.#all) {
      const told = connection.idleSeconds
      const idle = this.#options.idleSeconds
      connection.turn(seconds, told === null ? idle : Math.max(1, Math.min(idle, told - EARLIER_SECONDS)))
    }
  }

  destroy(): void {
    this.#destroyed = true
    for (const connection of this.#all) connection.destroy()
    for (const order of this.#waiting.splice(0)) fail(order, new Error('this server is closing'))
  }

  #connect(): void {
    this.#connecting++
    this.#options.connect((error, wire) => {
      this.#connecting--
      if (wire === null || this.#destroyed) {
        wire?.socket.destroy()
        const order = this.#waiting.shift()
        if (order) fail(order, error ?? new Error('this server is closing'))
        // Those beyond the most there may be had no attempt of their own: nobody else would begin one for them.
        return this.#further()
      }
      this.#opened(wire)
    })
  }

  #opened(wire: Wire): void {
    const connection = new Connection(
      wire,
      (free) => this.#next(free),
      (closed) => this.#lost(closed),
    )
    this.#all.add(connection)
    this.#next(connection)
  }

  #next(connection: Connection): void {
    for (let order = this.#waiting.shift(); order !== undefined; order = this.#waiting.shift())
      if (connection.send(order)) return
    this.#free.push(connection)
  }

  #lost(connection: Connection): void {
    this.#all.delete(connection)
    const at = this.#free.lastIndexOf(connection)
    if (at >= 0) this.#free.splice(at, 1)
    this.#further()
  }

  #further(): void {
    if (this.#waiting.length > this.#connecting && !this.#destroyed) this.#connect()
  }
}

function fail({ handler }: Order, error: Error): void {
  handler.onResponseError?.(NO_CONNECTION, error)
}

/** The controller of an order that never had a connection. */
export const NO_CONNECTION: Parameters<NonNullable<Order['handler']['onResponseError']>>[0] = {
  aborted: true,
  paused: false,
  reason: null,
  rawHeaders: null,
  rawTrailers: null,
  abort() {},
  pause() {},
  resume() {},
}
