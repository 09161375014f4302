import type pg from 'pg'

export interface Schedule {
  name: string
  seconds: number
  run(job: { signal: AbortSignal }): Promise<void>
}
export const every = (name: string, seconds: number, work: Schedule['run']): Schedule => ({ name, seconds, run: work })

const FIRST_SECONDS = 60

export async function unlockDeadWorkers(pool: pg.Pool): Promise<void> {
  await pool.query(`select graphile_worker.force_unlock_workers(array(
    select distinct j.locked_by from graphile_worker._private_jobs j
    where j.locked_by is not null
      and not exists (select 1 from processes p where p.worker_pool = j.locked_by and p.expires_at > now())
      and (j.locked_at < now() - interval '1 minute' or exists (select 1 from processes p where p.worker_pool = j.locked_by))))`)
}

/** Reschedules jobs that would wait too long because the clock was set back. */
export const bringNear = (pool: pg.Pool, schedules: readonly Schedule[]): Promise<unknown> =>
  pool.query(
    `update graphile_worker._private_jobs j set run_at = now() from unnest($1::text[], $2::float8[]) s(key, seconds)
    where j.key = s.key and j.locked_at is null and j.run_at > now() + make_interval(secs => s.seconds + 60)`,
    [schedules.map(({ name }) => `every:${name}`), schedules.map(({ seconds }) => seconds)],
  )

/** Spreads first runs over a minute; already scheduled ones keep their time. */
export const scheduleFirstRuns = (pool: pg.Pool, schedules: readonly Schedule[], attempts: number): Promise<unknown> =>
  pool.query(
    `select 1 from graphile_worker.add_jobs(array(
      select (name, '{}', null, now() + make_interval(secs => least(seconds, $3 * (n - 1) / cardinality($1))), $4, 'every:' || name, null, null)::graphile_worker.job_spec
      from unnest($1::text[], $2::float8[]) with ordinality s(name, seconds, n)), job_key_preserve_run_at => true)`,
    [schedules.map(({ name }) => name), schedules.map(({ seconds }) => seconds), FIRST_SECONDS, attempts],
  )
