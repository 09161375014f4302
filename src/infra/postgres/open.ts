import pg from 'pg'
import type { Config } from '#config'
import { StartRefused, unusableDatabase } from '../start-refused.ts'
import { NewerDatabase, migrate } from './migrate.ts'
import { startPostgres } from './embedded/supervisor.ts'

export interface OpenDatabase extends AsyncDisposable {
  connection: pg.PoolConfig
  /** Resolves with the reason when the database ends unexpectedly. Never for `DATABASE_URL`, which is reconnected. */
  failed: Promise<string>
}

const OLDEST = 15

export async function openDatabase(
  config: Pick<Config, 'databaseUrl' | 'dataDir'>,
  log: (line: string) => void,
): Promise<OpenDatabase> {
  await using stack = new AsyncDisposableStack()
  const embeddedServer =
    config.databaseUrl === null ? stack.use(await startPostgres({ dataDir: config.dataDir, log })) : null
  const connection: pg.PoolConfig = embeddedServer
    ? embeddedServer.connection
    : { connectionString: config.databaseUrl! }
  await prepare(connection, embeddedServer === null)
  const running = stack.move()
  return {
    connection,
    failed: new Promise(
      (resolve) => void embeddedServer?.exited.then((exit) => !exit.isExpected && resolve(exit.reason)),
    ),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}

async function prepare(connection: pg.PoolConfig, foreign: boolean): Promise<void> {
  const pool = new pg.Pool({ ...connection, max: 1, connectionTimeoutMillis: 10_000 })
  pool.on('error', () => {})
  try {
    const { rows } = await pool.query<{ version: string }>(`select current_setting('server_version_num') as version`)
    const major = Math.floor(Number(rows[0]!.version) / 10_000)
    if (major < OLDEST)
      throw new StartRefused(
        `the PostgreSQL at DATABASE_URL is version ${major}. Version ${OLDEST} or newer is required`,
      )
    await migrate(pool)
  } catch (error) {
    if (error instanceof NewerDatabase) throw new StartRefused(error.message)
    if (error instanceof StartRefused || !foreign) throw error
    throw unusableDatabase(connection.connectionString!, error)
  } finally {
    await pool.end()
  }
}
