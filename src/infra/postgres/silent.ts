/**
 * Connections whose other end is gone without a word: a host that lost its power, a firewall that forgot. TCP goes on
 * sending into the void for a quarter of an hour (tcp_retries2, tcp(7)), and whoever waits for an answer waits as long.
 */
import type { Socket } from 'node:net'
import pg from 'pg'

const LOOK_MS = 500
const SILENT_MS = 1_500
const ANSWER_MS = 2_000
/** Beyond every statement's own limit: where nobody can be asked, that is the end. */
const GIVEN_UP_MS = 65_000

/** TCP itself looks after idle ones: after so long, ten probes a second apart. */
export const KEEP_ALIVE = { keepAlive: true, keepAliveInitialDelayMillis: 5_000 } as const

/** A client of pg with what its types do not say. */
type Client = pg.PoolClient & { readyForQuery: boolean; processID: number; connection: { stream: Socket } }

/** How long a client has waited, from look to look. */
interface Wait {
  bytesRead: number
  since: number
  /** The server was asked before and knew of nothing that it still has to say here. */
  isDoubted: boolean
}

/**
 * Leaves connections of a pool that wait for an answer which will never come: the server, asked on another one, works
 * on nothing for them, twice in a row. What a long statement waits for is never touched. With them go the idle ones.
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
      // A result that waits for its turn is there, although nothing of it is read.
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
    // Other connections that went silent with them would be noticed one by one, each by somebody who waits.
    if (hasLeft) for (const client of idle) leave(client)
  }

  function leave(client: Client): true {
    log(dropConnection(client))
    return true
  }
}

/** Cuts a connection off: a caller who waits on it hears that it is gone. */
export function dropConnection(client: pg.ClientBase): Error {
  const error = new Error('a connection to the database is silent, and nothing is at its other end')
  ;(client as Client).connection.stream.destroy(Object.assign(error, { code: 'ECONNRESET' }))
  return error
}

/** A connection beside the pool's, there only while somebody waits. */
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
  /** Ends the connection, also one that is only connecting yet: it would stay for good otherwise. */
  function end(): void {
    const ending = client
    client = null
    void ending?.then((one) => one.end()).catch(() => {})
  }

  return {
    end,
    /** The backends among these that are at work; null where the server cannot be asked, or a pooler stands between. */
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
