import { setTimeout as sleep } from 'node:timers/promises'
import { type TaskList, type WorkerUtils, makeWorkerUtils } from 'graphile-worker'
import { sql } from 'kysely'
import pg from 'pg'
import type { Log } from '../log.ts'
import type { Db, Postgres } from '../postgres/client.ts'
import { createPool } from '../postgres/pool.ts'
import { KEEP_ALIVE, dropSilentConnections } from '../postgres/silent.ts'
import type { ServerProcess } from '../processes/processes.ts'
import { type ActiveRunner, type RunnerParts, STOP_MS, forceUnlock, loggerFor, startRunner } from './runner.ts'
import { type Schedule, bringNear, every, scheduleFirstRuns, unlockDeadWorkers } from './schedules.ts'

export interface AddOptions {
  runAt?: Date
  inSeconds?: number
  key?: string
  attempts?: number
}

/** Background work on graphile-worker: durable with the transaction that adds it, and retried on failure. */
export interface Jobs extends AsyncDisposable {
  /** Joins the transaction of `ctx`. `key` replaces a waiting job with the same key. */
  add(ctx: { db: Db }, name: string, payload: Record<string, unknown>, options?: AddOptions): Promise<void>
  /** Removes the job with this key, if there is one. A running job isn't retried. */
  remove(ctx: { db: Db }, key: string): Promise<void>
}

export type JobHandler = (
  payload: never,
  job: { signal: AbortSignal; attempt: number; lastAttempt: boolean },
) => Promise<void>

export interface JobRunner extends Jobs {
  /**
   * Starts processing jobs. Separate from `startJobs`, because handlers need an engine and the engine needs jobs. Call
   * once.
   */
  work(handlers: Readonly<Record<string, JobHandler>>, schedules?: readonly Schedule[]): Promise<void>
}

/** Backoff is e^attempt seconds, so the last attempt comes half an hour after the first. */
const ATTEMPTS = 8
const TURN_MS = 1_000
const UNLOCK_MS = 10_000
const AGAIN_MS = 500
const DAY_SECONDS = 86_400

export interface JobsParts {
  postgres: Postgres
  process: ServerProcess
  log: Log
  /** Polling interval. Only for tests. */
  turnMs?: number
}

export async function startJobs({ postgres, process, log, turnMs = TURN_MS }: JobsParts): Promise<JobRunner> {
  const warn = (error: unknown): void => log.warn({ error }, 'a database connection for jobs was lost')
  // Separate connections, so that requests and jobs can't block each other.
  const pool = createPool({
    ...KEEP_ALIVE,
    ...postgres.connection,
    max: 6,
    application_name: 'ukiyo jobs',
    types: plainTypes,
  })
  pool.on('error', warn)
  pool.on('connect', (client) =>
    client.on('error', (error) => log.debug({ error }, 'a database connection for jobs was lost')),
  )
  dropSilentConnections(pool, postgres.connection, warn)
  const utils = await makeWorkerUtils({ pgPool: pool, logger: loggerFor(log) })
  await utils.migrate()
  return new GraphileJobs({ postgres, process, log, turnMs, pool }, utils)
}

class GraphileJobs implements JobRunner {
  readonly #parts: RunnerParts & Pick<JobsParts, 'postgres'>
  readonly #utils: WorkerUtils
  readonly #stopping = new AbortController()
  #active: ActiveRunner | null = null
  #taking: Promise<void> | null = null
  #unlocking: NodeJS.Timeout | null = null

  constructor(parts: RunnerParts & Pick<JobsParts, 'postgres'>, utils: WorkerUtils) {
    this.#parts = parts
    this.#utils = utils
  }

  async add(
    { db }: { db: Db },
    name: string,
    payload: Record<string, unknown>,
    { runAt, inSeconds, key, attempts = ATTEMPTS }: AddOptions = {},
  ): Promise<void> {
    // Uses the database clock, which also decides what is due; a process clock may differ.
    const due = sql`coalesce(${runAt ?? null}::timestamptz, now() + make_interval(secs => ${inSeconds ?? null}))`
    await sql`select 1 from graphile_worker.add_job(${name}, ${JSON.stringify(payload)}::json, run_at => ${due},
      max_attempts => ${attempts}::int, job_key => ${key ?? null}::text)`.execute(db)
  }

  async remove({ db }: { db: Db }, key: string): Promise<void> {
    await sql`select 1 from graphile_worker.remove_job(${key})`.execute(db)
  }

  async work(handlers: Readonly<Record<string, JobHandler>>, scheduleList: readonly Schedule[] = []): Promise<void> {
    const schedules = [
      ...scheduleList,
      every('jobs.clean', DAY_SECONDS, () =>
        this.#utils.cleanup({
          tasks: ['DELETE_PERMAFAILED_JOBS', 'GC_TASK_IDENTIFIERS'],
          taskIdentifiersToKeep: names,
        }),
      ),
    ]
    const all: Record<string, JobHandler> = { ...handlers }
    for (const schedule of schedules) all[schedule.name] = this.#scheduledTask(schedule)
    const names = Object.keys(all)
    const taskList = Object.fromEntries(Object.entries(all).map(([name, handler]) => [name, this.#task(handler)]))
    const { pool, postgres } = this.#parts
    await unlockDeadWorkers(pool)
    await bringNear(pool, schedules)
    await scheduleFirstRuns(postgres.pool, schedules, ATTEMPTS)
    this.#taking = this.#keepTaking(taskList, await startRunner(this.#parts, taskList))
    this.#unlocking = setInterval(() => void this.#unlock(schedules), UNLOCK_MS)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#stopping.signal.aborted) return
    this.#stopping.abort(new Error('the server stops'))
    if (this.#unlocking) clearInterval(this.#unlocking)
    if (this.#active) {
      const { promise, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, STOP_MS)
      await Promise.race([Promise.all([this.#active.runner.stop().catch(() => {}), this.#taking]), promise])
      clearTimeout(timer)
    }
    await this.#utils.release()
    await this.#parts.pool.end()
  }

  async #unlock(schedules: readonly Schedule[]): Promise<void> {
    const { pool, log } = this.#parts
    try {
      await Promise.all([unlockDeadWorkers(pool), bringNear(pool, schedules)])
    } catch (error) {
      log.warn({ error }, 'jobs of stopped processes cannot be unlocked')
    }
  }

  /** Schedules the next run even if this one fails. A run interrupted by a crash is unlocked and repeated. */
  #scheduledTask(schedule: Schedule): JobHandler {
    const { name, seconds } = schedule
    return async (_, { signal }) => {
      try {
        await schedule.run({ signal })
      } catch (error) {
        if (!signal.aborted) this.#parts.log.error({ error, job: name }, 'a scheduled job failed')
      }
      await this.add(this.#parts.postgres, name, {}, { inSeconds: seconds, key: `every:${name}` })
    }
  }

  #task(handler: JobHandler): TaskList[string] {
    const stopping = this.#stopping.signal
    return async (payload, { job, abortSignal }) => {
      await handler(payload as never, {
        signal: abortSignal ? AbortSignal.any([stopping, abortSignal]) : stopping,
        attempt: job.attempts,
        lastAttempt: job.attempts >= job.max_attempts,
      })
    }
  }

  /** Restarts the runner whenever it ends, until the server stops. */
  async #keepTaking(taskList: TaskList, first: ActiveRunner): Promise<void> {
    const { log } = this.#parts
    this.#active = first
    for (;;) {
      const error = await this.#active.ended
      if (this.#stopping.signal.aborted) return
      log.warn({ error }, 'job processing stopped and is being restarted')
      await this.#restart(taskList, this.#active.name)
    }
  }

  async #restart(taskList: TaskList, endedPool: string): Promise<void> {
    const { pool, log } = this.#parts
    const stopping = this.#stopping.signal
    for (;;) {
      await sleep(AGAIN_MS, undefined, { signal: stopping }).catch(() => {})
      if (stopping.aborted) return
      try {
        await forceUnlock(pool, endedPool)
        this.#active = await startRunner(this.#parts, taskList)
        if (stopping.aborted) await this.#active.runner.stop().catch(() => {})
        return
      } catch (error) {
        log.warn({ error }, 'jobs cannot be processed right now')
      }
    }
  }
}

// The queue encodes IDs as JSON, which has no bigint, so int8 stays text here.
const plainTypes: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === pg.types.builtins.INT8 ? String : pg.types.getTypeParser(oid, format),
}
