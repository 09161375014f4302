/**
 * The server program: reads the environment, opens the database, starts the app, prints `ready {origin}`, and stops on
 * SIGTERM.
 */
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
// A reader that closes early (`npm start | head -1`) must not stop the server.
process.stdout.on('error', () => {})

/** Loaded while the database starts, and not at all if the start fails before. */
const loadApp = () => import('#app')

/**
 * A terminal signals every process, and npm and the parent process pass the signal on. Signals within this time count
 * as one.
 */
const SAME_WISH_MS = 1_000
/** Workers report what they wait for before their parent process does. */
const WORKERS_FIRST_SECONDS = 2

try {
  if (cluster.isWorker) await work()
  else await serve()
  // Open handles must not delay the exit.
  process.exit()
} catch (cause) {
  const error = explainStart(cause, "the server can't start")
  process.exitCode = 1
  if (error instanceof StartRefused || error instanceof ConfigRefused) process.stderr.write(`ukiyo: ${error.message}\n`)
  else process.stderr.write(`ukiyo: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`)
  process.exit()
}

async function serve(): Promise<void> {
  const { config, warnings } = readConfig(process.env)
  for (const warning of warnings) process.stderr.write(`warning: ${warning}\n`)
  const log = createLog(config.logLevel, config.logFormat)
  // Registered before the database starts: a signal in between must not leave it running.
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
    throw new StartRefused(`the database stopped: ${reason}`)
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

/** Runs after `ready`: usually it's already built, and a build takes seconds. */
function prepareApp({ dataDir }: Config, log: Log): void {
  import('#interfaces/app/build.ts')
    .then(({ buildApp }) => buildApp(dataDir))
    .catch((error: unknown) => log.error({ error }, "the app couldn't be built"))
}

async function sayToken(config: Config, connection: pg.PoolConfig, log: Log): Promise<void> {
  await using postgres = connectPostgres({ ...connection, max: 1 }, (error) =>
    log.warn({ error }, 'lost a database connection'),
  )
  const { prepareSetupToken } = await import('#modules/accounts/sign-in/setup.ts')
  const token = await prepareSetupToken(postgres.db, config.dataDir)
  if (token !== null) process.stdout.write(`setup token: ${token}\n`)
}

/** Resolves on the first SIGTERM or SIGINT. A later second one exits at once. */
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
 * Kills a process that doesn't stop in time. Settled calls are in the ledger's journal and the next start takes over
 * the rest. The embedded database stops with it.
 */
function boundStop(
  { drainSeconds, stopSeconds }: Pick<Config, 'drainSeconds' | 'stopSeconds'>,
  log: Log,
  down: () => string,
): void {
  const late = (): void => {
    log.error({ waits_for: down() }, "the server didn't stop in time and was killed")
    process.exit(1)
  }
  setTimeout(late, (drainSeconds + stopSeconds) * 1_000).unref()
}

interface InheritedState {
  connection: pg.PoolConfig
  rootKeys: string[]
  /** Also for replacement workers: if all died at once, no one else remembers the port in `ready`. */
  port: number
}

/** Starts worker processes on one port. Each is a whole server; they share only the database. */
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
        reject(new StartRefused(`a server process exited during startup (${signal ?? code})`))
        // Replaces a worker that dies later; the others take over its runs and reservations. If all died at once, this
        // timer keeps the program alive.
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
        // A worker that didn't stop in time has logged it.
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
  // Without its parent, nothing would stop this process.
  const parentExit = new Promise<void>((resolve) => process.once('disconnect', resolve))
  try {
    const { startApp } = await loading
    await using app = await startApp({ config, ...appOptions, log })
    process.send!({ origin: app.origin })
    forgetStart()
    await Promise.race([stopRequest, parentExit])
    boundStop(config, log, () => app.down ?? 'its exit')
  } catch (reason) {
    const error = explainStart(reason, "a server process can't start")
    if (!(error instanceof StartRefused)) log.error({ error }, 'a server process failed')
    // The parent reports the reason once for all workers and stops this one.
    process.send!({ refused: error instanceof Error ? error.message : String(error) })
    await Promise.race([stopRequest, parentExit])
    process.exit(1)
  }
  process.exit(0)
}
