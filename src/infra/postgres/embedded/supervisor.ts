import { realpathSync } from 'node:fs'
import { dirname } from 'node:path'
import { explainStart } from '../../start-refused.ts'
import { findPackage, usableBinaries } from './binaries.ts'
import { openCluster, superuser } from './cluster.ts'
import { takeOnlyLock, makeDataDir } from './datadir.ts'
import { clearLeftover } from './leftover.ts'
import { placeCluster } from './place.ts'
import { startServer, type Exit } from './server.ts'
import { makeSocketDir, port, removeSocketDir } from './socket.ts'
import { databaseUser } from './user.ts'

export interface EmbeddedPostgres extends AsyncDisposable {
  /** For `pg`: `host` is a Unix socket's folder. */
  connection: { host: string; port: number; user: string; password: string; database: string }
  pid: number
  /**
   * Resolves when PostgreSQL ends, unexpectedly (`reason` in one line) or because it was disposed of. Never rejects.
   */
  exited: Promise<Exit>
}

/**
 * Starts the embedded PostgreSQL on `{dataDir}/postgres`, created on first start. Resolves when it accepts connections.
 * Close pools before disposing, for a fast stop. Throws `StartRefused` if the operator must act (full disk, unsupported
 * platform, cluster in use). The caller must hold the data directory (`lockDataDir`).
 */
export async function startPostgres(options: Options): Promise<EmbeddedPostgres> {
  try {
    return await start(options)
  } catch (error) {
    throw explainStart(error, 'the database doesn’t start')
  }
}

interface Options {
  dataDir: string
  log: (line: string) => void
  /** Overrides: a temporary database doesn't need durability. */
  settings?: Readonly<Record<string, string>>
}

async function start({ dataDir, log, settings }: Options): Promise<EmbeddedPostgres> {
  const installedBinaries = findPackage()
  makeDataDir(dataDir)
  const place = placeCluster(realpathSync(dataDir), databaseUser(log), log)
  const { cluster, user } = place
  await using cleanup = new AsyncDisposableStack()
  // The data directory's lock isn't enough: two copies of it may link to one cluster.
  cleanup.defer(takeOnlyLock(`${cluster}.lock`, `the database in ${cluster}`))
  const binaries = usableBinaries(installedBinaries, dirname(cluster), user, log)
  const password = await openCluster(binaries, place, log)
  await clearLeftover(cluster, log)
  const host = makeSocketDir(user)
  cleanup.defer(() => removeSocketDir(host))
  const server = await startServer(binaries, place, host, log, settings)
  cleanup.defer(server.stop)
  const running = cleanup.move()
  return {
    connection: { host, port, user: superuser, password, database: 'postgres' },
    pid: server.pid,
    exited: server.exited,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}
