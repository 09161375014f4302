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

/** The PostgreSQL of this server, running. */
export interface EmbeddedPostgres extends AsyncDisposable {
  /** For `pg`: `host` is the folder of a unix socket. */
  connection: { host: string; port: number; user: string; password: string; database: string }
  pid: number
  /**
   * Resolves when PostgreSQL ends, by itself (`expected` is false, `reason` says why in one line) or because it was
   * disposed of. Never rejects.
   */
  exited: Promise<Exit>
}

/**
 * Starts the embedded PostgreSQL on `{dataDir}/postgres`, which is made on the first start, and resolves when it accepts
 * connections. It stops when disposed of: close the pools first, then it is quick. `log` gets the few lines worth
 * reading. Throws `StartRefused` when the owner has to act (a full disk, a platform without binaries, a cluster that
 * another server uses). The caller holds the data dir (`lockDataDir`).
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
  /** Settings in place of ours: a database that nobody keeps need not be safe. */
  settings?: Readonly<Record<string, string>>
}

async function start({ dataDir, log, settings }: Options): Promise<EmbeddedPostgres> {
  const installedBinaries = findPackage()
  makeDataDir(dataDir)
  const place = placeCluster(realpathSync(dataDir), databaseUser(log), log)
  const { cluster, user } = place
  await using cleanup = new AsyncDisposableStack()
  // The data dir's lock is not enough: two copies of a data dir may link to one cluster.
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
