import { EventEmitter, once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  Logger,
  type LogLevel,
  type Runner,
  type TaskList,
  type WorkerEventMap,
  type WorkerEvents,
  makeWorkerUtils,
  run,
} from 'graphile-worker'
import { sql } from 'kysely'
import pg from 'pg'
import type { Log } from '../log.ts'
import type { Db, Postgres } from '../postgres/client.ts'
import { createPool } from '../postgres/pool.ts'
import { KEEP_ALIVE, dropSilentConnections } from '../postgres/silent.ts'
import type { ServerProcess } from '../processes/processes.ts'
import { endOf } from './runner-end.ts'

/** Background work on graphile-worker: durable with the transaction that adds it, and retried on failure. */
export interface Jobs extends AsyncDisposable {
  /** Joins the transaction of `ctx`. `key` replaces a waiting job with the same key. */
  add(
    ctx: { db: Db },
    name: string,
    payload: Record<string, unknown>,
    more?: { runAt?: Date; inSeconds?: number; key?: string; attempts?: number },
  ): Promise<void>
  /** Removes the job with this key, if there is one. A running job isn't retried. */
  remove(ctx: { db: Db }, key: string): Promise<void>
}

export type JobHandler = (
  payload: never,
  job: { signal: AbortSignal; attempt: number; lastAttempt: boolean },
) => Promise<void>

export interface Schedule {
  name: string
  seconds: number
  run(job: { signal: AbortSignal }): Promise<void>
}
export const every = (name: string, seconds: number, work: Schedule['run']): Schedule => ({ name, seconds, run: work })

export interface JobRunner extends Jobs {
  /**
   * Starts processing jobs. Separate from `startJobs`, because handlers need an engine and the engine needs jobs. Call
   * once.
   */
  work(handlers: Readonly<Record<string, JobHandler>>, schedules?: readonly Schedule[]): Promise<void>
}

const CONCURRENCY = 50
/** Backoff is e^attempt seconds, so the last attempt comes half an hour after the first. */
const ATTEMPTS = 8
const TURN_MS = 1_000
const UNLOCK_MS = 10_000
const AGAIN_MS = 500
const STOP_MS = 10_000
const DAY_SECONDS = 86_400
const FIRST_SECONDS = 60

interface ActiveRunner {
  runner: Runner
  name: string
  ended: Promise<unknown>
}

export async function startJobs({
  postgres,
  process,
  log,
  turnMs = TURN_MS,
}: {
  postgres: Postgres
  process: ServerProcess
  log: Log
  /** Polling interval. Only for tests. */
  turnMs?: number
}): Promise<JobRunner> {
  // Separate connections, so that requests and jobs can't block each other.
  const pool = createPool({
    ...KEEP_ALIVE,
    ...postgres.connection,
    max: 6,
    application_name: 'ukiyo jobs',
    types: plainTypes,
  })
  pool.on('error', (error) => log.warn({ error }, 'a database connection for jobs was lost'))
  pool.on('connect', (client) =>
    client.on('error', (error) => log.debug({ error }, 'a database connection for jobs was lost')),
  )
  dropSilentConnections(pool, postgres.connection, (error) =>
    log.warn({ error }, 'a database connection for jobs was lost'),
  )
  const utils = await makeWorkerUtils({ pgPool: pool, logger: loggerFor(log) })
  await utils.migrate()
  const stopping = new AbortController()
  let active: ActiveRunner | null = null
  let taking: Promise<void> | null = null
  let unlocking: NodeJS.Timeout | null = null

  const add: Jobs['add'] = async ({ db }, name, payload, { runAt, inSeconds, key, attempts = ATTEMPTS } = {}) => {
    // Uses the database clock, which also decides what is due; a process clock may differ.
    const due = sql`coalesce(${runAt ?? null}::timestamptz, now() + make_interval(secs => ${inSeconds ?? null}))`
    await sql`select 1 from graphile_worker.add_job(${name}, ${JSON.stringify(payload)}::json, run_at => ${due},
      max_attempts => ${attempts}::int, job_key => ${key ?? null}::text)`.execute(db)
  }

  const remove: Jobs['remove'] = async ({ db }, key) => {
    await sql`select 1 from graphile_worker.remove_job(${key})`.execute(db)
  }

  async function unlockDead(): Promise<void> {
    await pool.query(`select graphile_worker.force_unlock_workers(array(
      select distinct j.locked_by from graphile_worker._private_jobs j
      where j.locked_by is not null
        and not exists (select 1 from processes p where p.worker_pool = j.locked_by and p.expires_at > now())
        and (j.locked_at < now() - interval '1 minute' or exists (select 1 from processes p where p.worker_pool = j.locked_by))))`)
  }

  /** Reschedules jobs that would wait too long because the clock was set back. */
  const bringNear = (schedules: readonly Schedule[]): Promise<unknown> =>
    pool.query(
      `update graphile_worker._private_jobs j set run_at = now() from unnest($1::text[], $2::float8[]) s(key, seconds)
      where j.key = s.key and j.locked_at is null and j.run_at > now() + make_interval(secs => s.seconds + 60)`,
      [schedules.map(({ name }) => `every:${name}`), schedules.map(({ seconds }) => seconds)],
    )

  /** Spreads first runs over a minute; already scheduled ones keep their time. */
  const begin = (schedules: readonly Schedule[]): Promise<unknown> =>
    postgres.pool.query(
      `select 1 from graphile_worker.add_jobs(array(
        select (name, '{}', null, now() + make_interval(secs => least(seconds, $3 * (n - 1) / cardinality($1))), $4, 'every:' || name, null, null)::graphile_worker.job_spec
        from unnest($1::text[], $2::float8[]) with ordinality s(name, seconds, n)), job_key_preserve_run_at => true)`,
      [schedules.map(({ name }) => name), schedules.map(({ seconds }) => seconds), FIRST_SECONDS, ATTEMPTS],
    )

  /** Schedules the next run even if this one fails. A run interrupted by a crash is unlocked and repeated. */
  const scheduledTask =
    ({ name, seconds, run: work }: Schedule): JobHandler =>
    async (_, { signal }) => {
      try {
        await work({ signal })
      } catch (error) {
        if (!signal.aborted) log.error({ error, job: name }, 'a scheduled job failed')
      }
      await add(postgres, name, {}, { inSeconds: seconds, key: `every:${name}` })
    }

  async function take(taskList: TaskList): Promise<ActiveRunner> {
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
      await pool.query('select graphile_worker.force_unlock_workers($1)', [[workerPool.id]])
      throw error
    })
    return { runner, name: workerPool.id, ended: end }
  }

  async function keepTaking(taskList: TaskList, first: ActiveRunner): Promise<void> {
    active = first
    for (;;) {
      const error = await active.ended
      if (stopping.signal.aborted) return
      log.warn({ error }, 'job processing stopped and is being restarted')
      for (let next: ActiveRunner | null = null; next === null;) {
        await sleep(AGAIN_MS, undefined, { signal: stopping.signal }).catch(() => {})
        if (stopping.signal.aborted) return
        try {
          await pool.query('select graphile_worker.force_unlock_workers($1)', [[active.name]])
          active = next = await take(taskList)
          if (stopping.signal.aborted) await active.runner.stop().catch(() => {})
        } catch (error) {
          log.warn({ error }, 'jobs cannot be processed right now')
        }
      }
    }
  }

  return {
    add,
    remove,
    async work(handlers, scheduleList = []) {
      const schedules = [
        ...scheduleList,
        every('jobs.clean', DAY_SECONDS, () =>
          utils.cleanup({ tasks: ['DELETE_PERMAFAILED_JOBS', 'GC_TASK_IDENTIFIERS'], taskIdentifiersToKeep: names }),
        ),
      ]
      const all: Record<string, JobHandler> = { ...handlers }
      for (const schedule of schedules) all[schedule.name] = scheduledTask(schedule)
      const names = Object.keys(all)
      const taskList = Object.fromEntries(Object.entries(all).map(([name, handler]) => [name, task(handler)]))
      await unlockDead()
      await bringNear(schedules)
      await begin(schedules)
      taking = keepTaking(taskList, await take(taskList))
      unlocking = setInterval(
        () =>
          void Promise.all([unlockDead(), bringNear(schedules)]).catch((error: unknown) =>
            log.warn({ error }, 'jobs of stopped processes cannot be unlocked'),
          ),
        UNLOCK_MS,
      )
    },
    async [Symbol.asyncDispose]() {
      if (stopping.signal.aborted) return
      stopping.abort(new Error('the server stops'))
      if (unlocking) clearInterval(unlocking)
      if (active) {
        const { promise, resolve } = Promise.withResolvers<void>()
        const timer = setTimeout(resolve, STOP_MS)
        await Promise.race([Promise.all([active.runner.stop().catch(() => {}), taking]), promise])
        clearTimeout(timer)
      }
      await utils.release()
      await pool.end()
    },
  }

  function task(handler: JobHandler): TaskList[string] {
    return async (payload, { job, abortSignal }) => {
      await handler(payload as never, {
        signal: abortSignal ? AbortSignal.any([stopping.signal, abortSignal]) : stopping.signal,
        attempt: job.attempts,
        lastAttempt: job.attempts >= job.max_attempts,
      })
    }
  }
}

// The queue encodes IDs as JSON, which has no bigint, so int8 stays text here.
const plainTypes: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === pg.types.builtins.INT8 ? String : pg.types.getTypeParser(oid, format),
}

function loggerFor(log: Log): Logger {
  return new Logger(() => (level: LogLevel, message, meta) => {
    const fields = meta?.error === undefined ? {} : { error: meta.error }
    if (level === 'error') log.error(fields, message)
    // Fewer connections than jobs is intended, because jobs mostly wait for others.
    else if (level === 'warning' && !message.includes('maxPoolSize')) log.warn(fields, message)
    else log.debug(fields, message)
  })
}
