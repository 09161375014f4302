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

/** A busy machine may take seconds to accept a connection. */
const CONNECT_MS = 10_000

export interface Postgres extends AsyncDisposable {
  pool: pg.Pool
  db: Kysely<Database>
  /** For work on behalf of several callers; it counts as the server's own. */
  forServer: Postgres
  connection: pg.PoolConfig
}

// Money and counters are int8, for which JS numbers aren't exact.
pg.types.setTypeParser(pg.types.builtins.INT8, BigInt)

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
      // Kysely ends the pool only if it has requested a connection.
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
  // A broken idle connection reports here; the next query opens another.
  pool.on('error', log)
  // A connection in use fails its statement and also emits this event, which would crash the process if unhandled.
  pool.on('connect', (client) => client.on('error', () => {}))
  prepareStatements(pool)
  pool.on('connect', (client) => limitStatements(client, readMs))
  pool.on('connect', paceResults)
  dropSilentConnections(pool, connection, log)
  return pool
}

export interface Connections extends AsyncDisposable {
  postgres: Postgres
  watch: Postgres
  rights: Postgres
  ledger: Postgres
}

/**
 * Connections per process. Jobs add 6, ledger reservations 1, the bus 1. Operators size PostgreSQL by the sum,
 * documented in docs/operating/scaling.md.
 */
export const CONNECTIONS = { accounts: 20, server: 10, watch: 2, rights: 3, ledger: 4 }

export const CALL_TIMES = { waitMs: 5_000, readMs: 15_000 }
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
 * Bounds statements of dead processes. Only on our own connections: behind a pooler, which reports another process ID,
 * a session setting would leak to other clients.
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

/** A row's next `updated_at`: now, but always later than before, so times strictly increase per row. */
export const nextTime = sql<Date>`greatest(date_trunc('milliseconds', clock_timestamp()), updated_at + interval '1 millisecond')`

/** The same for an aliased table: `update runs r set updated_at = ${nextTimeOf('r')}`. */
export const nextTimeOf = (name: string) =>
  sql<Date>`greatest(date_trunc('milliseconds', clock_timestamp()), ${sql.ref(`${name}.updated_at`)} + interval '1 millisecond')`

/** An error's SQLSTATE or null: `23505` is a unique violation. */
export const sqlState = (error: unknown): string | null =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' && /^[0-9A-Z]{5}$/.test(error.code)
    ? error.code
    : null
