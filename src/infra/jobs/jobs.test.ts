import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { testDatabase } from '#test/database.ts'
import { until } from '#test/until.ts'
import { startJobs } from './jobs.ts'
import { every } from './schedules.ts'
import { createLeases } from '../processes/leases.ts'
import { createLog } from '../log.ts'
import { connectPostgres } from '../postgres/client.ts'
import { startProcess } from '../processes/processes.ts'

const log = createLog('silent')
/** A shorter polling interval detects dead queues sooner. */
const TURN_MS = 200

async function instance(t: TestContext) {
  const stack = new AsyncDisposableStack()
  t.after(() => stack.disposeAsync())
  const database = stack.use(await testDatabase())
  const postgres = stack.use(connectPostgres(database.connection, () => {}))
  return {
    database,
    postgres,
    async process(turnMs = 1_000) {
      const process = stack.use(await startProcess({ postgres, log }))
      const jobs = stack.use(await startJobs({ postgres, process, log, turnMs }))
      return { process, jobs, leases: createLeases({ postgres, processId: process.id, log }) }
    },
  }
}

test('a job runs after its transaction commits, never after a rollback, and again on failure', async (t) => {
  const { postgres, process } = await instance(t)
  const { jobs } = await process()
  const runs: { n: number; attempt: number; lastAttempt: boolean }[] = []
  const done = Promise.withResolvers<void>()
  await jobs.work({
    'test.note': async ({ n }: { n: number }, { attempt, lastAttempt }) => {
      runs.push({ n, attempt, lastAttempt })
      if (n === 2 && attempt === 1) throw new Error('not yet')
      if (n === 2) done.resolve()
    },
  })
  await assert.rejects(
    postgres.db.transaction().execute(async (db) => {
      await jobs.add({ db }, 'test.note', { n: 1 })
      throw new Error('rolled back')
    }),
  )
  await postgres.db.transaction().execute((db) => jobs.add({ db }, 'test.note', { n: 2 }, { attempts: 2 }))
  await done.promise
  assert.deepEqual(runs, [
    { n: 2, attempt: 1, lastAttempt: false },
    { n: 2, attempt: 2, lastAttempt: true },
  ])
})

test('jobs are announced to the worker, and a key has one waiting job', async (t) => {
  const { postgres, process } = await instance(t)
  // This queue doesn't poll, so only a notification delivers a job.
  const { jobs } = await process(3_600_000)
  const runs: number[] = []
  let done = Promise.withResolvers<void>()
  await jobs.work({
    'test.keyed': async ({ n }: { n: number }) => {
      runs.push(n)
      done.resolve()
    },
  })
  // graphile-worker doesn't wait for its LISTEN and misses earlier notifications. In production the next poll finds the
  // job, but here there is none.
  const listeners = `select from pg_stat_activity
    where datname = current_database() and state = 'idle' and query like 'LISTEN "jobs:insert"%'`
  await until(
    async () => (await postgres.pool.query(listeners)).rowCount,
    (count) => count === 1,
  )
  await postgres.db.transaction().execute(async (db) => {
    for (const n of [1, 2, 3]) await jobs.add({ db }, 'test.keyed', { n }, { key: 'k' })
  })
  await done.promise
  assert.deepEqual(runs, [3])
  for (let i = 0; i < 10; i++) {
    done = Promise.withResolvers()
    await jobs.add(postgres, 'test.keyed', { n: 10 + i })
    await done.promise
  }
})

test('all jobs run even if the queue’s connections are cut repeatedly', async (t) => {
  const { postgres, process } = await instance(t)
  const { jobs } = await process()
  const finishedRuns = new Set<number>()
  await jobs.work({
    'test.some': async ({ n }: { n: number }, { attempt }) => {
      await sleep(5)
      if (n % 3 === 0 && attempt === 1) throw new Error('not yet')
      finishedRuns.add(n)
    },
  })
  const cutConnections = () =>
    postgres.pool.query(`select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and application_name = 'ukiyo jobs'`)
  for (let round = 0; round < 8; round++) {
    for (let n = 0; n < 30; n++) await jobs.add(postgres, 'test.some', { n: round * 30 + n })
    await cutConnections()
    await sleep(round * 20)
    await cutConnections()
  }
  await jobs.add(postgres, 'test.some', { n: 240 })
  while (finishedRuns.size < 241) {
    await sleep(50, undefined, { signal: t.signal })
    // A job interrupted four times would be retried e⁴ seconds later.
    await postgres.pool.query(`update graphile_worker._private_jobs set run_at = now()
        where locked_at is null and task_id = (select id from graphile_worker._private_tasks where identifier = 'test.some')`)
  }
  const { rows } = await postgres.pool.query(
    `select 1 from graphile_worker.jobs where task_identifier = 'test.some' and attempts >= max_attempts`,
  )
  assert.deepEqual(rows, [])
})

/** Runs `work` while `holding` blocks the queue, and cuts its connections before it may continue. */
async function cutWhileWaiting(pool: pg.Pool, holding: string, work: () => Promise<void>): Promise<void> {
  const holder = await pool.connect()
  try {
    await holder.query(`begin; ${holding}`)
    await work()
    await holder.query(`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name = 'ukiyo jobs'`)
    await holder.query('commit')
  } finally {
    holder.release()
  }
}

async function waitFor(pool: pg.Pool, waiting: number, words: string): Promise<void> {
  const text = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like $1`
  await until(
    () => pool.query(text, [`%${words}%`]),
    ({ rows }) => rows.length >= waiting,
  )
}

test('a queue disconnected before it knows its task names still runs its jobs', async (t) => {
  const { postgres, process } = await instance(t)
  const { jobs } = await process(TURN_MS)
  const done = Promise.withResolvers<void>()
  await postgres.pool.query(`create function names_wait() returns trigger language plpgsql as $$ begin
        if current_setting('application_name') = 'ukiyo jobs' then perform pg_advisory_xact_lock(1); end if;
        return null;
      end $$;
      create trigger names_wait before insert on graphile_worker._private_tasks execute function names_wait()`)
  await cutWhileWaiting(postgres.pool, 'select pg_advisory_xact_lock(1)', async () => {
    await jobs.work({ 'test.some': async () => done.resolve() })
    await waitFor(postgres.pool, 1, '_private_tasks')
  })
  await jobs.add(postgres, 'test.some', {})
  await done.promise
})

test('jobs whose completions were cut off run again, and later jobs run too', async (t) => {
  const { postgres, process } = await instance(t)
  const { jobs } = await process()
  const runs: number[] = []
  const started = Promise.withResolvers<void>()
  const may = Promise.withResolvers<void>()
  await jobs.work({
    'test.some': async ({ n }: { n: number }) => {
      runs.push(n)
      if (runs.length === 5) started.resolve()
      await may.promise
      // Each completion is a separate statement.
      await sleep(n * 20)
    },
  })
  for (let n = 0; n < 5; n++) await jobs.add(postgres, 'test.some', { n })
  await started.promise
  await cutWhileWaiting(postgres.pool, 'lock table graphile_worker._private_jobs in exclusive mode', async () => {
    may.resolve()
    await waitFor(postgres.pool, 4, '_private_jobs')
  })
  await jobs.add(postgres, 'test.some', { n: 5 })
  const remainingQuery = `select 1 from graphile_worker.jobs where task_identifier = 'test.some'`
  await until(
    () => postgres.pool.query(remainingQuery),
    ({ rows }) => rows.length === 0,
  )
  assert.deepEqual([...new Set(runs)].toSorted(), [0, 1, 2, 3, 4, 5])
  assert.ok(runs.length > 6, 'some were done again')
})

test('a queue that waits long for the database keeps its jobs', async (t) => {
  const { postgres, process } = await instance(t)
  const { jobs } = await process(TURN_MS)
  const started = Promise.withResolvers<AbortSignal>()
  const may = Promise.withResolvers<void>()
  const next = Promise.withResolvers<void>()
  await jobs.work({
    'test.long': (_, { signal }) => {
      started.resolve(signal)
      return may.promise
    },
    'test.next': async () => next.resolve(),
  })
  await jobs.add(postgres, 'test.long', {})
  const signal = await started.promise
  const holder = await postgres.pool.connect()
  await holder.query('begin; lock table graphile_worker._private_jobs in exclusive mode')
  // Longer than an idle queue may be silent plus its jobs' remaining time.
  await sleep(22 * TURN_MS)
  await holder.query('commit')
  holder.release()
  assert.equal(signal.aborted, false)
  may.resolve()
  await jobs.add(postgres, 'test.next', {})
  await next.promise
})

test('a schedule repeats after each run, also after failures, and stopping aborts a running job', async (t) => {
  const { postgres, process } = await instance(t)
  const { jobs } = await process()
  const waiting = Promise.withResolvers<void>()
  const thrice = Promise.withResolvers<void>()
  let rounds = 0
  let isStopped = false
  await jobs.work(
    {
      'test.waits': (_, { signal }) =>
        new Promise<void>((resolve) => {
          waiting.resolve()
          signal.addEventListener('abort', () => {
            isStopped = true
            resolve()
          })
        }),
    },
    [
      every('test.tick', 0.1, async () => {
        rounds += 1
        if (rounds === 3) thrice.resolve()
        throw new Error('of no consequence')
      }),
    ],
  )
  await jobs.add(postgres, 'test.waits', {})
  await waiting.promise
  await thrice.promise
  await jobs[Symbol.asyncDispose]()
  assert.equal(isStopped, true)
})

test('a schedule follows the database clock, also when it is set back', async (t) => {
  const { postgres, process } = await instance(t)
  let rounds = 0
  let next = Promise.withResolvers<void>()
  const hourly = every('test.hourly', 3_600, async () => {
    rounds += 1
    next.resolve()
  })
  await (await process()).jobs.work({}, [hourly])
  await next.promise
  const wait = `select extract(epoch from run_at - updated_at)::float8 as seconds from graphile_worker._private_jobs
    where key = 'every:test.hourly' and locked_at is null and run_at > now()`
  const { rows } = await until(
    () => postgres.pool.query<{ seconds: number }>(wait),
    ({ rowCount }) => rowCount !== 0,
  )
  assert.equal(rows[0]!.seconds, 3_600)

  next = Promise.withResolvers()
  await postgres.pool.query(
    `update graphile_worker._private_jobs set run_at = run_at + interval '5 hours' where key = 'every:test.hourly'`,
  )
  await (await process()).jobs.work({}, [hourly])
  await next.promise
  assert.equal(rounds, 2)
})

test('jobs of a killed process move to a live one', async (t) => {
  const { database, process } = await instance(t)
  const child = spawn(
    globalThis.process.execPath,
    [join(import.meta.dirname, '../../../test/infra/process-child.ts'), JSON.stringify(database.connection)],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  await once(child.stdout, 'data')
  const before = await process()
  assert.equal(await before.leases.acquire('one'), null)
  child.kill('SIGKILL')
  await once(child, 'exit')

  // A restart on the same machine detects the dead process at once; elsewhere its lease expires after 30 s.
  const after = await process()
  const lease = await after.leases.acquire('one', 1)
  assert.equal(lease?.fence, 2n)
  const again = Promise.withResolvers<number>()
  await after.jobs.work({ 'test.long': async (_, { attempt }) => again.resolve(attempt) })
  assert.equal(await again.promise, 2)
  assert.equal(after.process.inTouch(), true)
  await lease[Symbol.asyncDispose]()
  await using oneLease = await before.leases.acquire('one')
  assert.equal(oneLease?.fence, 3n)
})

test('a lease taken by another process is lost to its holder', async (t) => {
  const { postgres, process } = await instance(t)
  const { leases } = await process()
  const lease = (await leases.acquire('two', 1))!
  await postgres.pool.query(`update leases set fence = fence + 1 where name = 'two'`)
  if (!lease.signal.aborted) await once(lease.signal, 'abort')
  assert.equal(lease.signal.aborted, true)
})
