import type { Socket } from 'node:net'
import { BodyMemory } from './body-memory.ts'
import { Connection, type ConnectionOwner, type FastOptions } from './connection.ts'

const CLOCK_MS = 1_000
/** A request that has not wholly come after so long is for the full server, which knows how to be slow. */
const GATHER_MS = 100
/** The memory for bodies that is kept although no request needs it. */
const KEPT_BYTES = 16 << 20

/**
 * Connections whose requests are ordinary: read and written here, at a third of what Node's server costs. The first
 * request that is anything else hands its connection over to that server, with all its bytes.
 */
export class FastConnections implements ConnectionOwner {
  readonly options: FastOptions
  readonly memory = new BodyMemory(KEPT_BYTES)
  readonly #all = new Set<Connection>()
  readonly #gathering = new Set<Connection>()
  readonly #clock: NodeJS.Timeout
  #gathers: NodeJS.Timeout | null = null
  closing = false

  constructor(options: FastOptions) {
    this.options = options
    const turns = (options.keepAliveSeconds * 1_000) / CLOCK_MS
    this.#clock = setInterval(() => {
      for (const connection of this.#all) connection.turn(turns)
    }, CLOCK_MS).unref()
  }

  take(socket: Socket): void {
    this.#all.add(new Connection(socket, this))
  }

  gathers(connection: Connection): void {
    this.#gathering.add(connection)
    if (this.#gathers === null) this.#gathers = setTimeout(() => this.#handSlowOver(), GATHER_MS)
  }

  onBodyComplete(connection: Connection): void {
    this.#gathering.delete(connection)
  }

  #handSlowOver(): void {
    this.#gathers = null
    const late = performance.now() - GATHER_MS / 2
    for (const connection of this.#gathering) if (connection.gathersSince < late) connection.handOver()
    if (this.#gathering.size > 0) this.#gathers = setTimeout(() => this.#handSlowOver(), GATHER_MS)
  }

  onClose(connection: Connection): void {
    this.#all.delete(connection)
    this.#gathering.delete(connection)
  }

  /** Closes what is idle; answers in progress are the last of their connections. */
  close(): void {
    this.closing = true
    for (const connection of this.#all) if (connection.idle) connection.destroy()
  }

  closeAll(): void {
    clearInterval(this.#clock)
    for (const connection of this.#all) connection.destroy()
  }
}
