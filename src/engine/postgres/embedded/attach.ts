import { readFileSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import type pg from 'pg'
import type { Config } from '#config'
import { StartRefused } from '../../start-refused.ts'
import { superuser } from './cluster.ts'
import { lockDataDir } from './datadir.ts'
import { startPostgres } from './supervisor.ts'

/**
 * The database of an instance for a command on its host, whether its server runs or not: a server's own PostgreSQL is
 * reached by its socket, one that rests is started for as long as the command takes.
 */
export async function attachDatabase(
  config: Pick<Config, 'databaseUrl' | 'dataDir'>,
): Promise<AsyncDisposable & { connection: pg.PoolConfig }> {
  await using stack = new AsyncDisposableStack()
  let connection: pg.PoolConfig
  if (config.databaseUrl !== null) connection = { connectionString: config.databaseUrl }
  else {
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

/**
 * How to connect to a running PostgreSQL, from its own pid file (lines: pid, data directory, start, port, socket
 * folder) and the cluster's password.
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
