/** The server program: environment → config → database → app → `ready {origin}` on stdout → SIGTERM takes it down. */
import cluster from 'node:cluster'
import type pg from 'pg'
import { type Config, ConfigRefused, readConfig } from '#config'
import { forgetStart } from '#infra/forget-start.ts'
import { type Log, createLog } from '#infra/log.ts'
import { connectPostgres } from '#infra/postgres/client.ts'
import { lockDataDir } from '#infra/postgres/embedded/datadir.ts'
import { openDatabase } from '#infra/postgres/open.ts'
import { closeHandedOver } from '#infra/processes/handed-over.ts'
import { rootKeys } from '#infra/secrets.ts'
import { StartRefused, explainStart } from '#infra/start-refused.ts'
import { tryPort } from '#pipeline/listen.ts'

process.title = 'ukiyo'
// A reader of the first lines that leaves (`npm start | head -1`) must not end the server.
process.stdout.on('error', () => {})

/** All of the server: loaded while the database starts, and not at all where the start is refused before that. */
const loadApp = () => import('#app')

/** A terminal signals every process of a program, and npm and our own parent pass it on: within this it is one wish. */
const SAME_WISH_MS = 1_000
/** With several processes each says by itself what it waits for, before the one that has started them does. */
const WORKERS_FIRST_SECONDS = 2

try {
  if (cluster.isWorker) await work()
  else await serve()
  // What a part has left open keeps nobody waiting.
  process.exit()
} catch (cause) {
  const error = explainStart(cause, 'the server does not start')
  process.exitCode = 1
  if (error instanceof StartRefused || error instanceof ConfigRefused) process.stderr.write(`ukiyo: ${error.message}\n`)
  else process.stderr.write(`ukiyo: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`)
  process.exit()
}

async function serve(): Promise<void> {
  const { config, warnings } = readConfig(process.env)
  for (const warning of warnings) process.stderr.write(`warning: ${warning}\n`)
  const log = createLog(config.logLevel, config.logFormat)
  // Before the database is started: a signal in between must not leave it behind.
  const stopRequest = stopSignal()
  await using stack = new AsyncDisposableStack()
  stack.use(lockDataDir(config.dataDir))
  const port = await tryPort(config)
  const keys = rootKeys(config.secretKeys, config.dataDir)
  const loading = config.workers === 1 ? loadApp() : null
  loading?.catch(() => {})
  const database = stack.use(await openDatabase(config, (line) => log.info(line)))
  await sayToken(config, database.connection, log)
  const databaseFailure = database.failed.then((reason) => {
    throw new StartRefused(`the database has stopped: ${reason}`)
  })
  if (loading !== null) {
    const { startApp } = await loading
    const app = stack.use(await startApp({ config, connection: database.connection, rootKeys: keys, log }))
    process.stdout.write(`ready ${app.origin}\n`)
    prepareApp(config, log)
    forgetStart()
    await Promise.race([stopRequest, databaseFailure]).finally(() =>
      boundStop(config, log, () => app.down ?? 'the database'),
    )
  } else {
    const workers = stack.use(await startWorkers(config, { connection: database.connection, rootKeys: keys, port }))
    process.stdout.write(`ready ${workers.origin}\n`)
    prepareApp(config, log)
    await Promise.race([stopRequest, databaseFailure, workers.failed]).finally(() =>
      boundStop(
        { ...config, stopSeconds: config.stopSeconds + WORKERS_FIRST_SECONDS },
        log,
        () => workers.down ?? 'the database',
      ),
    )
  }
  log.info('stopping')
}

/** Behind `ready`: most of the time it is there already, and a build takes seconds. */
function prepareApp({ dataDir }: Config, log: Log): void {
  import('#interfaces/app/build.ts')
    .then(({ buildApp }) => buildApp(dataDir))
    .catch((error: unknown) => log.error({ error }, 'the app is not there'))
}

async function sayToken(config: Config, connection: pg.PoolConfig, log: Log): Promise<void> {
  await using postgres = connectPostgres({ ...connection, max: 1 }, (error) =>
    log.warn({ error }, 'a connection to the database broke'),
  )
  const { prepareSetupToken } = await import('#modules/accounts/sign-in/setup.ts')
  const token = await prepareSetupToken(postgres.db, config.dataDir)
  if (token !== null) process.stdout.write(`setup token: ${token}\n`)
}

/** Resolves on the first SIGTERM or SIGINT; a second one after it ends the process at once. */
function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    let askedAt: number | null = null
    const stop = () => {
      if (askedAt !== null && performance.now() - askedAt > SAME_WISH_MS) process.exit(130)
      askedAt ??= performance.now()
      resolve()
    }
    process.on('SIGTERM', stop).on('SIGINT', stop)
  })
}

/**
 * Ends a process that does not stop, as a kill would: what is settled is in the journal of the ledger, and the next start
 * takes over the rest. The database that belongs to it is stopped with it.
 */
function boundStop(
  { drainSeconds, stopSeconds }: Pick<Config, 'drainSeconds' | 'stopSeconds'>,
  log: Log,
  down: () => string,
): void {
  const late = (): void => {
    log.error({ waits_for: down() }, 'the server does not stop in time, and is ended')
    process.exit(1)
  }
  setTimeout(late, (drainSeconds + stopSeconds) * 1_000).unref()
}

interface InheritedState {
  connection: pg.PoolConfig
  rootKeys: string[]
  /** The same for all of them, and for those that take the place of one that died: where all died at once, nobody else knows any more what `ready` said. */
  port: number
}

/** Several processes behind one port: each is a whole server, and they share nothing but the database. */
async function startWorkers(
  config: Config,
  state: InheritedState,
): Promise<AsyncDisposable & { origin: string; failed: Promise<never>; readonly down: string | null }> {
  const failure = Promise.withResolvers<never>()
  failure.promise.catch(() => {})
  let stopping = false
  const stoppingPids = new Set<number | undefined>()
  const start = () =>
    new Promise<string>((resolve, reject) => {
      const worker = cluster.fork()
      closeHandedOver(worker)
      worker.on('online', () => worker.send(state))
      worker.on('message', (message: { origin?: string; refused?: string }) => {
        if (message.origin) resolve(message.origin)
        if (message.refused) reject(new StartRefused(message.refused))
      })
      worker.on('exit', (code, signal) => {
        if (stopping) return
        reject(new StartRefused(`a server process ended at its start (${signal ?? code})`))
        // One that dies later is replaced; its runs and reservations are taken over by the others. Where all have died at
        // once, this is all that is left to keep the program alive.
        setTimeout(() => {
          if (!stopping) start().catch(failure.reject)
        }, 500)
      })
    })
  await using stack = new AsyncDisposableStack()
  stack.defer(async () => {
    stopping = true
    const workers = Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined)
    await Promise.all(
      workers.map(async (worker) => {
        const exit = new Promise<number | null>((resolve) => worker.once('exit', resolve))
        worker.kill('SIGTERM')
        stoppingPids.add(worker.process.pid)
        // One that did not stop in time has said so.
        if ((await exit) === 1) process.exitCode = 1
        stoppingPids.delete(worker.process.pid)
      }),
    )
  })
  const origins = await Promise.all(Array.from({ length: config.workers }, start))
  const running = stack.move()
  return {
    origin: origins[0]!,
    failed: failure.promise,
    get down() {
      return stoppingPids.size === 0 ? null : `server processes ${[...stoppingPids].join(', ')}`
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}

async function work(): Promise<void> {
  const loading = loadApp()
  loading.catch(() => {})
  const state = await new Promise<InheritedState>((resolve) =>
    process.once('message', resolve as (message: unknown) => void),
  )
  const { port, ...appOptions } = state
  const { config: envConfig } = readConfig(process.env)
  const config = { ...envConfig, port }
  const log = createLog(config.logLevel, config.logFormat)
  const stopRequest = stopSignal()
  // Without its parent nobody would stop it.
  const parentExit = new Promise<void>((resolve) => process.once('disconnect', resolve))
  try {
    const { startApp } = await loading
    await using app = await startApp({ config, ...appOptions, log })
    process.send!({ origin: app.origin })
    forgetStart()
    await Promise.race([stopRequest, parentExit])
    boundStop(config, log, () => app.down ?? 'its end')
  } catch (reason) {
    const error = explainStart(reason, 'a server process does not start')
    if (!(error instanceof StartRefused)) log.error({ error }, 'a server process failed')
    // The parent says why, once for all of them, and ends this one.
    process.send!({ refused: error instanceof Error ? error.message : String(error) })
    await Promise.race([stopRequest, parentExit])
    process.exit(1)
  }
  process.exit(0)
}
