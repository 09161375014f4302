import { Kysely, PostgresDialect, type Transaction, sql } from 'kysely'
import pg from 'pg'
import { createPool } from './pool.ts'
import { prepareStatements } from './prepared.ts'
import { KEEP_ALIVE, dropSilentConnections } from './silent.ts'
import type { Database } from './tables.ts'

export type Db = Kysely<Database> | Transaction<Database>

export interface Postgres extends AsyncDisposable {
  pool: pg.Pool
  db: Kysely<Database>
  /** The settings for a further connection of its own (LISTEN, graphile-worker). */
  connection: pg.PoolConfig
}

// Money and counters are int8: bigint keeps them exact, where a JS number would not.
pg.types.setTypeParser(pg.types.builtins.INT8, BigInt)

export function connectPostgres(connection: pg.PoolConfig, log: (error: Error) => void): Postgres {
  const pool = createPool({
    max: 20,
    idleTimeoutMillis: 60_000,
    connectionTimeoutMillis: 5_000,
    application_name: 'ukiyo',
    // A statement that outlives its caller would hold a connection for nothing.
    statement_timeout: 60_000,
    ...KEEP_ALIVE,
    ...connection,
  })
  // An idle connection that breaks reports here; the next query opens another.
  pool.on('error', log)
  // One that breaks while it is in use tells its statement, and this besides: unheard it would end the process.
  pool.on('connect', (client) => client.on('error', () => {}))
  prepareStatements(pool)
  dropSilentConnections(pool, connection, log)
  const db = new Kysely<Database>({ dialect: new PostgresDialect({ pool }) })
  return {
    pool,
    db,
    connection,
    async [Symbol.asyncDispose]() {
      await db.destroy()
      // Kysely ends the pool only where it has asked for a connection itself.
      if (!pool.ended && !pool.ending) await pool.end()
    },
  }
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
