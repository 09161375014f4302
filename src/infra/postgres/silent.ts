/**
 * Detects connections whose peer vanished silently (power loss, firewall timeout). TCP would retransmit for a quarter
 * of an hour (tcp_retries2, tcp(7)), and callers would wait as long.
 */
import type { Socket } from 'node:net'
import pg from 'pg'

const LOOK_MS = 500
const SILENT_MS = 1_500
const ANSWER_MS = 2_000
/** Longer than any statement limit: used if the server can't be asked. */
const GIVEN_UP_MS = 65_000

/** TCP checks idle connections: after this delay, ten probes a second apart. */
export const KEEP_ALIVE = { keepAlive: true, keepAliveInitialDelayMillis: 5_000 } as const

/** Fields of pg's client that its types omit. */
type Client = pg.PoolClient & { readyForQuery: boolean; processID: number; connection: { stream: Socket } }

interface Wait {
  bytesRead: number
  since: number
  isDoubted: boolean
}

/**
 * Drops connections that wait for a response that won't come: the server, asked on another connection, does no work for
 * them twice in a row. Long statements are never affected. Also drops idle connections.
 */
export function dropSilentConnections(pool: pg.Pool, connection: pg.ClientConfig, log: (error: Error) => void): void {
  const waits = new Map<Client, Wait>()
  const idle = new Set<Client>()
  let timer: NodeJS.Timeout | null = null
  let asking: Promise<void> | null = null
  const probe = askServer(connection)

  pool.on('connect', (client) => {
    waits.set(client as Client, { bytesRead: -1, since: 0, isDoubted: false })
    timer ??= setInterval(() => void (asking ??= look().finally(() => (asking = null))), LOOK_MS).unref()
  })
  pool.on('acquire', (client) => void idle.delete(client as Client))
  pool.on('release', (_, client) => void idle.add(client as Client))
  pool.on('remove', (client) => {
    idle.delete(client as Client)
    waits.delete(client as Client)
    if (waits.size > 0 || timer === null) return
    clearInterval(timer)
    timer = null
    probe.end()
  })

  function silentSince(now: number): [Client, Wait][] {
    return [...waits].filter(([client, wait]) => {
      const { stream } = client.connection
      const bytesRead = stream.bytesRead
      // A paced result is pending although nothing is read.
      if (!client.readyForQuery && bytesRead === wait.bytesRead && !stream.isPaused())
        return now - wait.since >= SILENT_MS
      Object.assign(wait, { bytesRead, since: now, isDoubted: false })
      return false
    })
  }

  async function look(): Promise<void> {
    const now = performance.now()
    const silent = silentSince(now)
    if (silent.length === 0) return probe.end()
    const working = await probe.working(silent.map(([client]) => client.processID))
    let hasLeft = false
    for (const [client, wait] of silent) {
      // It may have answered meanwhile.
      if (client.readyForQuery || client.connection.stream.bytesRead !== wait.bytesRead) continue
      const dead = working === null ? now - wait.since >= GIVEN_UP_MS : !working.has(client.processID)
      if (dead && (wait.isDoubted || working === null)) hasLeft = leave(client)
      wait.isDoubted = dead
    }
    // Other dead connections would otherwise be noticed one by one, by waiting callers.
    if (hasLeft) for (const client of idle) leave(client)
  }

  function leave(client: Client): true {
    log(dropConnection(client))
    return true
  }
}

export function dropConnection(client: pg.ClientBase): Error {
  const error = new Error('a connection to the database is silent, and nothing is at its other end')
  ;(client as Client).connection.stream.destroy(Object.assign(error, { code: 'ECONNRESET' }))
  return error
}

/** A separate connection, open only while callers wait. */
function askServer(connection: pg.ClientConfig) {
  let client: Promise<pg.Client> | null = null

  async function connect(): Promise<pg.Client> {
    const fresh = new pg.Client({
      ...connection,
      application_name: 'ukiyo looks after the others',
      connectionTimeoutMillis: ANSWER_MS,
      query_timeout: ANSWER_MS,
    })
    fresh.on('error', () => {})
    await fresh.connect()
    return fresh
  }
  /** Ends the connection even while connecting; otherwise it would stay open. */
  function end(): void {
    const ending = client
    client = null
    void ending?.then((one) => one.end()).catch(() => {})
  }

  return {
    end,
    /** Working backends among these. Null if the server can't be asked or is behind a pooler. */
    async working(pids: readonly number[]): Promise<ReadonlySet<number> | null> {
      try {
        const present = await (client ??= connect())
        const { rows } = await present.query<{ own: number; pids: number[] }>(
          `select pg_backend_pid() as own, coalesce(array_agg(pid) filter (where state in ('active', 'fastpath function call')), '{}') as pids
            from pg_stat_activity where pid = any($1::int[])`,
          [pids],
        )
        const { own, pids: active } = rows[0]!
        return own === (present as pg.Client & { processID: number }).processID ? new Set(active) : null
      } catch {
        end()
        return null
      }
    },
  }
}
