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

/** Work that outlives its caller, on graphile-worker: durable with the transaction it is added in, tried again when it fails. */
export interface Jobs extends AsyncDisposable {
  /** Added within `ctx`'s transaction if there is one. `key` replaces a waiting job of the same key. */
  add(
    ctx: { db: Db },
    name: string,
    payload: Record<string, unknown>,
    more?: { runAt?: Date; inSeconds?: number; key?: string; attempts?: number },
  ): Promise<void>
  /** Removes the job with this key, if there is one. A running job isn't retried. */
  remove(ctx: { db: Db }, key: string): Promise<void>
}

/** A job gets its payload as it was added, and a signal that fires when the server stops, or the job is to be given back. */
export type JobHandler = (
  payload: never,
  job: { signal: AbortSignal; attempt: number; lastAttempt: boolean },
) => Promise<void>

/** Housekeeping that runs again and again, in one process at a time: the next one `seconds` after the end of the last. */
export interface Schedule {
  name: string
  seconds: number
  run(job: { signal: AbortSignal }): Promise<void>
}
export const every = (name: string, seconds: number, work: Schedule['run']): Schedule => ({ name, seconds, run: work })

export interface JobRunner extends Jobs {
  /** Starts taking jobs. Apart from `startJobs`, for handlers need an engine and the engine needs jobs. Once. */
  work(handlers: Readonly<Record<string, JobHandler>>, schedules?: readonly Schedule[]): Promise<void>
}

/** Jobs at the same time in one process. They mostly wait for others. */
const CONCURRENCY = 50
/** Back-off is e^attempt seconds, so the last of these comes half an hour after the first. */
const ATTEMPTS = 8
/** How often the queue is looked into when nobody announces a job. */
const TURN_MS = 1_000
const UNLOCK_MS = 10_000
const AGAIN_MS = 500
const STOP_MS = 10_000
const DAY_SECONDS = 86_400
/** Within this time every recurring job of a new database has had its first round. */
const FIRST_SECONDS = 60

/** A runner, the name under which it locks jobs, and its end, with the error that it came to. */
interface ActiveRunner {
  runner: Runner
  name: string
  ended: Promise<unknown>
}

/** Brings the queue's own schema up to date; from then on jobs can be added. */
export async function startJobs({
  postgres,
  process,
  log,
  turnMs = TURN_MS,
}: {
  postgres: Postgres
  process: ServerProcess
  log: Log
  /** The time between two looks into the queue; only tests set it. */
  turnMs?: number
}): Promise<JobRunner> {
  // Connections of their own: requests that take all others must not keep jobs from being done, nor the reverse.
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
    // Counted by the clock of the database, which also decides what is due: that of a process may be another.
    const due = sql`coalesce(${runAt ?? null}::timestamptz, now() + make_interval(secs => ${inSeconds ?? null}))`
    await sql`select 1 from graphile_worker.add_job(${name}, ${JSON.stringify(payload)}::json, run_at => ${due},
      max_attempts => ${attempts}::int, job_key => ${key ?? null}::text)`.execute(db)
  }

  const remove: Jobs['remove'] = async ({ db }, key) => {
    await sql`select 1 from graphile_worker.remove_job(${key})`.execute(db)
  }

  /** Jobs of a dead process are done by another one. */
  async function unlockDead(): Promise<void> {
    await pool.query(`select graphile_worker.force_unlock_workers(array(
      select distinct j.locked_by from graphile_worker._private_jobs j
      where j.locked_by is not null
        and not exists (select 1 from processes p where p.worker_pool = j.locked_by and p.expires_at > now())
        and (j.locked_at < now() - interval '1 minute' or exists (select 1 from processes p where p.worker_pool = j.locked_by))))`)
  }

  /** Jobs that were due in a minute would wait, where the clock was set back, until it has caught up. */
  const bringNear = (schedules: readonly Schedule[]): Promise<unknown> =>
    pool.query(
      `update graphile_worker._private_jobs j set run_at = now() from unnest($1::text[], $2::float8[]) s(key, seconds)
      where j.key = s.key and j.locked_at is null and j.run_at > now() + make_interval(secs => s.seconds + 60)`,
      [schedules.map(({ name }) => `every:${name}`), schedules.map(({ seconds }) => seconds)],
    )

  /** The first rounds of what this database has never done are spread over a minute; those that wait keep their time. */
  const begin = (schedules: readonly Schedule[]): Promise<unknown> =>
    postgres.pool.query(
      `select 1 from graphile_worker.add_jobs(array(
        select (name, '{}', null, now() + make_interval(secs => least(seconds, $3 * (n - 1) / cardinality($1))), $4, 'every:' || name, null, null)::graphile_worker.job_spec
        from unnest($1::text[], $2::float8[]) with ordinality s(name, seconds, n)), job_key_preserve_run_at => true)`,
      [schedules.map(({ name }) => name), schedules.map(({ seconds }) => seconds), FIRST_SECONDS, ATTEMPTS],
    )

  /** The next round is added whether this one fails or not; one that a crash takes with it is unlocked and run again. */
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

  /** A runner of the queue, which ends when a connection fails it. */
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
          // One look-up feeds all the jobs of this process, where each of fifty would make its own.
          localQueue: { size: CONCURRENCY },
          // Without a batch nobody hears that the end of a job could not be written, and the process dies of it.
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

  /** The next one takes over what the last one held, for as long as the server runs. */
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
          // The caller who stopped the last one did not know of this one.
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
      // Of any work: its handler alone knows the shape in which it was asked for.
      await handler(payload as never, {
        signal: abortSignal ? AbortSignal.any([stopping.signal, abortSignal]) : stopping.signal,
        attempt: job.attempts,
        lastAttempt: job.attempts >= job.max_attempts,
      })
    }
  }
}

// The queue writes its ids as JSON, which has no bigint: here int8 stays words.
const plainTypes: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === pg.types.builtins.INT8 ? String : pg.types.getTypeParser(oid, format),
}

/** The queue's own lines go to our log; what it does in the ordinary course is for debugging. */
function loggerFor(log: Log): Logger {
  return new Logger(() => (level: LogLevel, message, meta) => {
    const fields = meta?.error === undefined ? {} : { error: meta.error }
    if (level === 'error') log.error(fields, message)
    // Jobs mostly wait for others and seldom for a connection: fewer of these than jobs is on purpose.
    else if (level === 'warning' && !message.includes('maxPoolSize')) log.warn(fields, message)
    else log.debug(fields, message)
  })
}
