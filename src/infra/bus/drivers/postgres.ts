import pg from 'pg'
import type { Driver, DriverParts } from './driver.ts'
import type { Postgres } from '../../postgres/client.ts'
import { KEEP_ALIVE, dropConnection } from '../../postgres/silent.ts'

/** A notification holds less than 8,000 bytes (https://www.postgresql.org/docs/18/sql-notify.html). */
const PART_BYTES = 7_800
const ASK_MS = 5_000
const ANSWER_MS = 3_000

/**
 * Uses `NOTIFY`, sent after the commit and batched: a NOTIFY inside a writing transaction would serialize all commits.
 * Longer messages are split into numbered parts.
 */
export async function connectPostgres(postgres: Postgres, { log, take }: DriverParts): Promise<Driver> {
  let listener: pg.Client | null = null
  let isClosed = false
  let sentCount = 0
  let sending: Promise<unknown> = Promise.resolve()
  const receivePart = joinParts(take)
  const self = crypto.randomUUID().slice(0, 8)

  async function listen(): Promise<void> {
    const client = new pg.Client({
      ...KEEP_ALIVE,
      ...(postgres.connection as pg.ClientConfig),
      application_name: 'ukiyo bus',
      connectionTimeoutMillis: 5_000,
      query_timeout: ANSWER_MS,
    })
    client.on('notification', ({ payload }) => payload && receivePart(payload))
    client.on('error', () => {})
    try {
      await client.connect()
      await client.query('listen ukiyo')
    } catch (error) {
      void client.end().catch(() => {})
      throw error
    }
    if (isClosed) return client.end()
    listener = client
    // A client that only listens wouldn't notice a dead connection.
    const asking = setInterval(() => void client.query('select 1').catch(() => dropConnection(client)), ASK_MS).unref()
    client.once('end', () => clearInterval(asking))
    // Not earlier: a failed attempt also ends, and its caller retries.
    client.once('end', () => {
      listener = null
      if (!isClosed) setTimeout(() => void relisten(), 500).unref()
    })
  }
  async function relisten(): Promise<void> {
    try {
      await listen()
    } catch (error) {
      log.warn({ error }, 'the bus cannot listen; trying again')
      if (!isClosed) setTimeout(() => void relisten(), 1_000).unref()
    }
  }

  await listen()
  return {
    publish(messages) {
      const parts = messages.flatMap((message) =>
        Buffer.byteLength(message) <= PART_BYTES ? [message] : inParts(`${self}.${(sentCount += 1)}`, message),
      )
      const send = () =>
        postgres.pool
          .query({
            name: 'bus_notify',
            text: `select pg_notify('ukiyo', t) from unnest($1::text[]) t`,
            values: [parts],
          })
          .catch((error: unknown) => log.debug({ error }, 'a message was not sent'))
      // Sequential, to keep each sender's order.
      sending = sending.then(send)
    },
    async [Symbol.asyncDispose]() {
      isClosed = true
      await sending
      await listener?.end()
    },
  }
}

/** `#<id> <part number> <part count> <base64>` */
function inParts(id: string, message: string): string[] {
  const words = Buffer.from(message).toString('base64')
  const count = Math.ceil(words.length / PART_BYTES)
  const partOf = (i: number): string => words.slice(i * PART_BYTES, (i + 1) * PART_BYTES)
  return Array.from({ length: count }, (_, i) => `#${id} ${i} ${count} ${partOf(i)}`)
}

/** Parts arrive in order; a message whose start was missed is dropped. */
export function joinParts(take: (message: string) => void): (payload: string) => void {
  let open: { id: string; parts: string[] } | null = null
  return (payload) => {
    if (payload[0] !== '#') return take(payload)
    const [id, i, count, words] = payload.slice(1).split(' ') as [string, string, string, string]
    if (i === '0') open = { id, parts: [] }
    if (open?.id !== id || open.parts.length !== Number(i)) return void (open = null)
    open.parts.push(words)
    if (open.parts.length < Number(count)) return
    const whole = Buffer.from(open.parts.join(''), 'base64').toString()
    open = null
    take(whole)
  }
}
