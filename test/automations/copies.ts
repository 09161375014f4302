import type pg from 'pg'

/** So many more automations like this one. */
export async function copyAutomation(pool: pg.Pool, id: string, count: number): Promise<void> {
  const fresh = `'01KB' || lpad(i::text, 22, '0')`
  await pool.query(
    `insert into resources (id, kind, workspace_id, created_by)
      select ${fresh}, kind, workspace_id, created_by from resources, generate_series(1, $2::int) i where id = $1`,
    [id, count],
  )
  await pool.query(
    `insert into automations (id, name, kind, schedule, time_zone, action, overlap, catch_up, catch_up_window_seconds,
        timeout_seconds, account_id)
      select ${fresh}, name, kind, schedule, time_zone, action, overlap, catch_up, catch_up_window_seconds, timeout_seconds,
        account_id from automations, generate_series(1, $2::int) i where id = $1`,
    [id, count],
  )
}
