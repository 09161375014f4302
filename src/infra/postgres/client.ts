import { Kysely, PostgresDialect, type Transaction, sql } from 'kysely'
import pg from 'pg'
import { sharePool } from './fair/share-pool.ts'
import { paceResults } from './fair/pace-results.ts'
import { STATEMENT_MS, limitStatements } from './fair/statement-limits.ts'
import { Turns } from './fair/turns.ts'
import { createPool } from './pool.ts'
import { prepareStatements } from './prepared.ts'
import { KEEP_ALIVE, dropSilentConnections } from './silent.ts'
import type { Database } from './tables.ts'

export type Db = Kysely<Database> | Transaction<Database>

/** A database that is there may take some seconds to accept a connection on a busy machine. */
const CONNECT_MS = 10_000

export interface Postgres extends AsyncDisposable {
  pool: pg.Pool
  db: Kysely<Database>
  /** The same, for what works for several callers at once: all of it counts as the server's own work. */
  forServer: Postgres
  /** The settings for a further connection of its own (LISTEN, graphile-worker). */
  connection: pg.PoolConfig
}

// Money and counters are int8: bigint keeps them exact, where a JS number would not.
pg.types.setTypeParser(pg.types.builtins.INT8, BigInt)

/** Connections of one kind, for whoever asks first. */
export function connectPostgres(connection: pg.PoolConfig, log: (error: Error) => void): Postgres {
  const pool = openPool(connection, log)
  const db = new Kysely<Database>({ dialect: new PostgresDialect({ pool }) })
  return {
    pool,
    db,
    connection,
    get forServer() {
      return this
    },
    async [Symbol.asyncDispose]() {
      await db.destroy()
      // Kysely ends the pool only where it has asked for a connection itself.
      if (!pool.ended && !pool.ending) await pool.end()
    },
  }
}

function openPool(connection: pg.PoolConfig, log: (error: Error) => void, readMs = CALL_TIMES.readMs): pg.Pool {
  const pool = createPool({
    max: 20,
    idleTimeoutMillis: 60_000,
    connectionTimeoutMillis: CONNECT_MS,
    application_name: 'ukiyo',
    // oxlint-disable-next-line typescript/no-misused-promises -- the pool waits for it (pg-pool, `_promiseTry`); its types don't say so.
    onConnect: limitSession,
    ...KEEP_ALIVE,
    ...connection,
  })
  // An idle connection that breaks reports here; the next query opens another.
  pool.on('error', log)
  // One that breaks while it is in use tells its statement, and this besides: unheard it would end the process.
  pool.on('connect', (client) => client.on('error', () => {}))
  prepareStatements(pool)
  pool.on('connect', (client) => limitStatements(client, readMs))
  pool.on('connect', paceResults)
  dropSilentConnections(pool, connection, log)
  return pool
}

/** The connections of a server process, each kind apart from the others. */
export interface Connections extends AsyncDisposable {
  /** For calls, by turns of their accounts, and for the server's own work outside of any call. */
  postgres: Postgres
  /** Changes of rights, the lease of this process and those of its tasks. */
  watch: Postgres
  /** The look-ups of keys, sessions and memberships. */
  rights: Postgres
  ledger: Postgres
}

/**
 * The most connections of each kind in one process. Jobs have 6 more, reservations of the ledger 1, the bus 1. Operators
 * size their PostgreSQL by the sum, which docs/operating/scaling.md names.
 */
export const CONNECTIONS = { accounts: 20, server: 10, watch: 2, rights: 3, ledger: 4 }

/** The longest that a call waits for its account's share of the connections, and that a statement of a read takes. */
export const CALL_TIMES = { waitMs: 5_000, readMs: 15_000 }
/** The same wait for work that outlives its caller, and for the server's own. */
const BACKGROUND_WAIT_MS = 60_000

export function openConnections(
  connection: pg.PoolConfig,
  log: (error: Error) => void,
  { waitMs, readMs } = CALL_TIMES,
): Connections {
  const stack = new AsyncDisposableStack()
  const most = CONNECTIONS.accounts + CONNECTIONS.server
  const pool = openPool({ ...connection, max: most }, log, readMs)
  stack.defer(() => pool.end())
  const waits = { waitMs, backgroundWaitMs: BACKGROUND_WAIT_MS }
  const turns = {
    accounts: new Turns({ most: CONNECTIONS.accounts, ...waits }),
    server: new Turns({ most: CONNECTIONS.server, ...waits, isUndivided: true }),
  }
  const viewOf = (forServer: Postgres | null): Postgres => {
    const view = sharePool(pool, turns, { isServers: forServer === null })
    const db = new Kysely<Database>({ dialect: new PostgresDialect({ pool: view }) })
    return {
      pool: view,
      db,
      connection,
      get forServer() {
        return forServer ?? this
      },
      [Symbol.asyncDispose]: async () => {},
    }
  }
  const server = viewOf(null)
  const own = (max: number): Postgres => stack.use(connectPostgres({ ...connection, max }, log))
  return {
    postgres: viewOf(server),
    watch: own(CONNECTIONS.watch),
    rights: own(CONNECTIONS.rights),
    ledger: own(CONNECTIONS.ledger),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

/**
 * Limits what a process that died leaves running. Only on a connection of our own: behind a pooler, which names another
 * process than the one that answers, a setting of the session would stay for whoever gets it next.
 */
async function limitSession(client: pg.ClientBase): Promise<void> {
  const { processID } = client as pg.ClientBase & { processID: number }
  const query: pg.QueryConfig & { query_timeout: number } = {
    text: `select set_config('statement_timeout', $1, false) where pg_backend_pid() = $2`,
    values: [String(STATEMENT_MS), processID],
    query_timeout: CONNECT_MS,
  }
  await client.query(query)
}

/** The next `updated_at` of a row: now, and always later than the one it had (times strictly increase per row). */
export const nextTime = sql<Date>`greatest(date_trunc('milliseconds', clock_timestamp()), updated_at + interval '1 millisecond')`

/** The same where the statement names its rows: `update runs r set updated_at = ${nextTimeOf('r')}`. */
export const nextTimeOf = (name: string) =>
  sql<Date>`greatest(date_trunc('milliseconds', clock_timestamp()), ${sql.ref(`${name}.updated_at`)} + interval '1 millisecond')`

/** PostgreSQL's SQLSTATE of an error, or null: `23505` is a broken unique constraint. */
export const sqlState = (error: unknown): string | null =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' && /^[0-9A-Z]{5}$/.test(error.code)
    ? error.code
    : null
