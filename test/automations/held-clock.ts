import type pg from 'pg'

/** From here on the database reads its time from a table: new connections see it stand still until it is moved. */
export async function takeOverClock(pool: pg.Pool, at: number): Promise<void> {
  await pool.query('create schema sim')
  await pool.query('create table sim.clock (at timestamptz not null)')
  await pool.query('insert into sim.clock values ($1)', [new Date(at)])
  for (const name of ['now', 'clock_timestamp'])
    await pool.query(
      `create function sim.${name}() returns timestamptz language sql stable as 'select at from sim.clock'`,
    )
  await pool.query('alter table automation_runs alter created_at set default sim.clock_timestamp()')
  const { rows } = await pool.query<{ name: string }>('select current_database() as name')
  await pool.query(`alter database ${rows[0]!.name} set search_path = sim, pg_catalog, public`)
}

export const moveClock = async (pool: pg.Pool, at: number): Promise<void> =>
  void (await pool.query('update sim.clock set at = $1', [new Date(at)]))
