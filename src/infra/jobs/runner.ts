import { EventEmitter, once } from 'node:events'
import {
  Logger,
  type LogLevel,
  type Runner,
  type TaskList,
  type WorkerEventMap,
  type WorkerEvents,
  run,
} from 'graphile-worker'
import type pg from 'pg'
import type { Log } from '../log.ts'
import type { ServerProcess } from '../processes/processes.ts'
import { endOf } from './runner-end.ts'

const CONCURRENCY = 50
export const STOP_MS = 10_000

export interface RunnerParts {
  pool: pg.Pool
  process: ServerProcess
  log: Log
  turnMs: number
}

export interface ActiveRunner {
  runner: Runner
  /** The worker pool that locks its jobs. */
  name: string
  ended: Promise<unknown>
}

export const forceUnlock = (pool: pg.Pool, workerPool: string): Promise<unknown> =>
  pool.query('select graphile_worker.force_unlock_workers($1)', [[workerPool]])

/** Starts processing jobs, after the process has recorded the name under which it locks them. */
export async function startRunner(
  { pool, process, log, turnMs }: RunnerParts,
  taskList: TaskList,
): Promise<ActiveRunner> {
  const events: WorkerEvents = new EventEmitter()
  const poolEvent = once(events, 'pool:create')
  const queueEvent = once(events, 'localQueue:init')
  const runner = await run({
    pgPool: pool,
    logger: loggerFor(log),
    events,
    noHandleSignals: true,
    taskList,
    preset: {
      worker: {
        concurrentJobs: CONCURRENCY,
        pollInterval: turnMs,
        gracefulShutdownAbortTimeout: STOP_MS,
        // One query fetches jobs for the whole process, instead of one per job slot.
        localQueue: { size: CONCURRENCY },
        // Enables batching: without it, a failed completion is an unhandled error that crashes the process.
        completeJobBatchDelay: 0,
        failJobBatchDelay: 0,
      },
    },
  })
  const [{ workerPool }] = (await poolEvent) as [WorkerEventMap['pool:create']]
  const [{ localQueue }] = (await queueEvent) as [WorkerEventMap['localQueue:init']]
  const end = endOf(runner, events, localQueue, () => pool.query('select 1'), turnMs)
  await process.locksJobsAs(workerPool.id).catch(async (error: unknown) => {
    void runner.stop().catch(() => {})
    await end
    await forceUnlock(pool, workerPool.id)
    throw error
  })
  return { runner, name: workerPool.id, ended: end }
}

export function loggerFor(log: Log): Logger {
  return new Logger(() => (level: LogLevel, message, meta) => {
    const fields = meta?.error === undefined ? {} : { error: meta.error }
    if (level === 'error') log.error(fields, message)
    // Fewer connections than jobs is intended, because jobs mostly wait for others.
    else if (level === 'warning' && !message.includes('maxPoolSize')) log.warn(fields, message)
    else log.debug(fields, message)
  })
}
