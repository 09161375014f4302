import type { Postgres } from '../postgres/client.ts'

/** What was spent in a period that is long over is told by the calls; the running sums of it go. */
export async function retainSpends({ pool }: Postgres): Promise<void> {
  await pool.query(`delete from spends where held = 0 and case length(period)
    when 10 then period < to_char(now() at time zone 'UTC' - interval '8 days', 'YYYY-MM-DD')
    when 8 then period < to_char(now() at time zone 'UTC' - interval '3 weeks', 'IYYY"-W"IW')
    when 7 then period < to_char(now() at time zone 'UTC' - interval '3 months', 'YYYY-MM')
    else false end`)
}
