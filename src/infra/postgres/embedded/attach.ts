import { lstatSync, readFileSync, realpathSync } from 'node:fs'
import { join, resolve } from 'node:path'
import pg from 'pg'
import type { Config } from '#config'
import { FIND_DATA, StartRefused, placeOf, placeOfData, unusableDatabase } from '../../start-refused.ts'
import { superuser } from './cluster.ts'
import { lockDataDir } from './datadir.ts'
import { startPostgres } from './supervisor.ts'

/**
 * Connects a command to the instance's database: an external one, the running embedded one by its socket, or a stopped
 * one started for the command. Never creates a database: throws `StartRefused` if none exists.
 */
export async function attachDatabase(
  config: Pick<Config, 'databaseUrl' | 'dataDir'>,
): Promise<AsyncDisposable & { connection: pg.PoolConfig }> {
  await using stack = new AsyncDisposableStack()
  let connection: pg.PoolConfig
  if (config.databaseUrl !== null) connection = { connectionString: config.databaseUrl }
  else {
    if (!hasCluster(config.dataDir)) throw new StartRefused(noInstance(config))
    try {
      stack.use(lockDataDir(config.dataDir))
      connection = stack.use(await startPostgres({ dataDir: config.dataDir, log: () => {} })).connection
    } catch (error) {
      const running = error instanceof StartRefused ? runningConnection(config.dataDir) : null
      if (running === null) throw error
      connection = running
    }
  }
  const open = stack.move()
  return { connection, [Symbol.asyncDispose]: () => open.disposeAsync() }
}

export async function attachInstance(
  config: Pick<Config, 'databaseUrl' | 'dataDir'>,
): Promise<AsyncDisposable & { connection: pg.PoolConfig }> {
  await using stack = new AsyncDisposableStack()
  const { connection } = stack.use(await attachDatabase(config))
  if (!(await hasTables(connection, config))) throw new StartRefused(noInstance(config))
  const open = stack.move()
  return { connection, [Symbol.asyncDispose]: () => open.disposeAsync() }
}

async function hasTables(connection: pg.PoolConfig, { databaseUrl }: Pick<Config, 'databaseUrl'>): Promise<boolean> {
  const client = new pg.Client({ ...connection, connectionTimeoutMillis: 10_000 })
  client.on('error', () => {})
  try {
    await client.connect()
    const { rows } = await client.query<{ there: boolean }>(`select to_regclass('instance') is not null as there`)
    return rows[0]!.there
  } catch (error) {
    if (databaseUrl === null) throw error
    throw unusableDatabase(databaseUrl, error)
  } finally {
    await client.end().catch(() => {})
  }
}

const noInstance = ({ databaseUrl, dataDir }: Pick<Config, 'databaseUrl' | 'dataDir'>): string =>
  databaseUrl === null
    ? `there is no instance in ${placeOfData(resolve(dataDir))}: ${FIND_DATA}. If you have none yet, start the server`
    : `there is no instance in ${placeOf(databaseUrl)}: set DATABASE_URL to the database of your instance, or start the server to create one`

const hasCluster = (dataDir: string): boolean =>
  lstatSync(join(dataDir, 'postgres'), { throwIfNoEntry: false }) !== undefined

/**
 * Connection settings from a running PostgreSQL's pid file (lines: pid, data directory, start, port, socket folder) and
 * the cluster's password.
 */
function runningConnection(dataDir: string): pg.PoolConfig | null {
  try {
    const cluster = realpathSync(join(dataDir, 'postgres'))
    const [, , , port, host] = readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n')
    const password = readFileSync(join(cluster, 'ukiyo.password'), 'utf8')
    return { host: host!, port: Number(port), user: superuser, password, database: 'postgres' }
  } catch {
    return null
  }
}
