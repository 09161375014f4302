import { AnswerTimeout, Connection, type Order } from './connection.ts'
import type { Connector, Wire } from './connector.ts'

export interface LaneOptions {
  connect: Connector
  mostConnections: number
  idleMs: number
  idle: Idle
}

/** Idle connections of all lanes. Bounded, because each uses a file descriptor. */
export interface Idle {
  count: number
  most: number
  shed(): void
}

const MAX_WAITING = 10_000
/** Closes before the server's announced idle timeout, which may be imprecise. */
const EARLIER_MS = 2_000

/**
 * Connections to one origin with one credential for one party. An order uses the most recently freed connection or a
 * new one.
 */
export class Lane {
  readonly #host: string
  readonly #options: LaneOptions
  readonly #free: Connection[] = []
  /** Finished, but unread bytes may follow their response. */
  readonly #resting: Connection[] = []
  readonly #all = new Set<Connection>()
  readonly #waiting: Order[] = []
  #connecting = 0
  #isDestroyed = false
  unusedMs = 0

  constructor(host: string, options: LaneOptions) {
    this.#host = host
    this.#options = options
  }

  get isIdle(): boolean {
    return this.#waiting.length === 0 && this.#connecting === 0 && this.#free.length === this.#all.size
  }

  get connections(): number {
    return this.#all.size + this.#connecting
  }

  dispatch(order: Order): void {
    this.unusedMs = 0
    const connection = this.#free.pop()
    if (connection !== undefined) {
      this.#options.idle.count--
      if (!connection.send(order)) this.#next(connection)
      return
    }
    if (this.#waiting.length >= MAX_WAITING) return fail(order, new Error(`too many calls wait for ${this.#host}`))
    this.#waiting.push(order)
    this.#further()
  }

  turn(ms: number): void {
    this.unusedMs += ms
    const { idleMs } = this.#options
    for (const connection of this.#all) {
      const idleSeconds = connection.idleSeconds
      connection.turn(
        ms,
        idleSeconds === null ? idleMs : Math.max(1_000, Math.min(idleMs, idleSeconds * 1_000 - EARLIER_MS)),
      )
    }
    for (const order of this.#waiting) order.elapsedMs += ms
    for (let at = 0; at < this.#waiting.length;) {
      const order = this.#waiting[at]!
      if (order.elapsedMs <= Math.min(order.limits.headMs, order.withinMs)) at++
      else {
        this.#waiting.splice(at, 1)
        fail(order, new AnswerTimeout(`no connection to ${this.#host} became available in time`))
      }
    }
  }

  shed(most: number): void {
    for (const connection of this.#free.slice(0, most)) connection.destroy()
  }

  destroy(): void {
    this.#isDestroyed = true
    for (const connection of this.#all) connection.destroy()
    for (const order of this.#waiting.splice(0)) fail(order, new Error('this server is closing'))
  }

  #connect(): void {
    this.#connecting++
    this.#options.connect((error, wire) => {
      this.#connecting--
      if (wire === null || this.#isDestroyed) {
        wire?.socket.destroy()
        const order = this.#waiting.shift()
        if (order) fail(order, error ?? new Error('this server is closing'))
        // Orders beyond the limit have no connection attempt, so nothing else would start one.
        return this.#further()
      }
      this.#onOpen(wire)
    })
  }

  #onOpen(wire: Wire): void {
    const connection = new Connection(
      wire,
      (free) => this.#rest(free),
      (connection) => this.#lost(connection),
    )
    this.#all.add(connection)
    this.#next(connection)
  }

  /**
   * A response may be followed by unrequested bytes in a further TLS record. Such a connection closes itself when they
   * are read, so connections are reused only after another event-loop poll.
   */
  #rest(connection: Connection): void {
    if (this.#resting.push(connection) === 1) setImmediate(this.#onPolled, 0)
  }

  readonly #onPolled = (before: number): void => {
    for (const connection of this.#resting.splice(0, before)) if (this.#all.has(connection)) this.#next(connection)
    this.#further()
    if (this.#resting.length > 0) setImmediate(this.#onPolled, this.#resting.length)
  }

  #next(connection: Connection): void {
    for (let order = this.#waiting.shift(); order !== undefined; order = this.#waiting.shift())
      if (connection.send(order)) return
    this.#free.push(connection)
    const { idle } = this.#options
    if (++idle.count > idle.most) idle.shed()
  }

  #lost(connection: Connection): void {
    this.#all.delete(connection)
    const at = this.#free.lastIndexOf(connection)
    if (at >= 0) {
      this.#free.splice(at, 1)
      this.#options.idle.count--
    }
    this.#further()
  }

  #further(): void {
    if (this.#waiting.length <= this.#connecting + this.#resting.length || this.#isDestroyed) return
    if (this.connections < this.#options.mostConnections) this.#connect()
  }
}

function fail({ handler }: Order, error: Error): void {
  handler.onResponseError?.(NO_CONNECTION, error)
}

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
