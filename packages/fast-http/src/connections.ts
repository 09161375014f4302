import type { Socket } from 'node:net'
import { BodyMemory } from './body-memory.ts'
import { Connection, type ConnectionOwner, type FastOptions } from './connection.ts'

const CLOCK_MS = 1_000
/** Requests that take longer go to the full server, which has timeouts for slow senders. */
const GATHER_MS = 100
const KEPT_BYTES = 16 << 20

/**
 * Reads and writes ordinary requests directly, at a third of the cost of Node's server. The first unusual request hands
 * its connection over to Node's server with all its bytes.
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

  close(): void {
    this.closing = true
    for (const connection of this.#all) if (connection.idle) connection.destroy()
  }

  closeAll(): void {
    clearInterval(this.#clock)
    for (const connection of this.#all) connection.destroy()
  }
}
