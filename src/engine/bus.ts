import { EventEmitter } from 'node:events'
import pg from 'pg'
import type { Log } from './log.ts'
import type { Postgres } from './postgres/client.ts'

/**
 * Wake-ups between the server processes on one database. A poke carries no data and may be lost: it only makes
 * a poll happen sooner, so every reader has a poll behind it. Sent after the commit and coalesced, for a NOTIFY
 * inside a writing transaction would serialise all commits.
 */
export interface Bus extends AsyncDisposable {
  /** Wakes the readers of this topic in every process, this one at once. */
  poke(topic: string): void
  on(topic: string, wake: () => void): Disposable
}

export async function connectBus(postgres: Postgres, log: Log): Promise<Bus> {
  const wakes = new EventEmitter().setMaxListeners(0)
  const pending = new Set<string>()
  let listener: pg.Client | null = null
  let closed = false

  async function listen(): Promise<void> {
    const client = new pg.Client({ ...(postgres.connection as pg.ClientConfig), application_name: 'ukiyo bus' })
    client.on('notification', ({ payload }) => payload && wakes.emit(payload))
    client.on('error', () => {})
    try {
      await client.connect()
      await client.query('listen ukiyo')
    } catch (error) {
      void client.end().catch(() => {})
      throw error
    }
    if (closed) return client.end()
    listener = client
    // Not before: an attempt that fails comes to its end too, and whoever made it makes the next.
    client.once('end', () => {
      listener = null
      if (!closed) setTimeout(() => void relisten(), 500).unref()
    })
  }
  async function relisten(): Promise<void> {
    try {
      await listen()
    } catch (error) {
      log.warn({ error }, 'the bus cannot listen; trying again')
      if (!closed) setTimeout(() => void relisten(), 1_000).unref()
    }
  }
  async function flush(): Promise<void> {
    const topics = [...pending]
    pending.clear()
    try {
      await postgres.pool.query({
        name: 'bus_notify',
        text: `select pg_notify('ukiyo', t) from unnest($1::text[]) t`,
        values: [topics],
      })
    } catch (error) {
      log.debug({ error }, 'a wake-up was not sent')
    }
  }

  await listen()
  return {
    poke(topic) {
      wakes.emit(topic)
      if (pending.size === 0) setImmediate(() => void flush())
      pending.add(topic)
    },
    on(topic, wake) {
      wakes.on(topic, wake)
      return { [Symbol.dispose]: () => void wakes.off(topic, wake) }
    },
    async [Symbol.asyncDispose]() {
      closed = true
      await listener?.end()
    },
  }
}
