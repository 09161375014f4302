import type { Postgres } from '../postgres/client.ts'

/** Deletes running sums of past periods and ended runs. The call records remain. */
export async function retainSpends({ pool }: Postgres): Promise<void> {
  await pool.query(`delete from spends where held = 0 and case length(period)
    when 10 then period < to_char(now() at time zone 'UTC' - interval '8 days', 'YYYY-MM-DD')
    when 8 then period < to_char(now() at time zone 'UTC' - interval '3 weeks', 'IYYY"-W"IW')
    when 7 then period < to_char(now() at time zone 'UTC' - interval '3 months', 'YYYY-MM')
    else false end`)
  await pool.query(`delete from spends s using runs r where r.id = s.subject and s.period = 'total' and s.held = 0
    and r.status in ('completed', 'failed', 'cancelled') and r.completed_at < now() - interval '1 day'`)
}
