import { type ColumnType, sql } from 'kysely'
import type { Db, Postgres } from '#infra/postgres/client.ts'
import type { Id } from '#core/ids.ts'
import type { RunRow } from './run-store.ts'
import type { RunEvent } from './facts.ts'

declare module '#infra/postgres/tables.ts' {
  interface Database {
    run_events: RunEventTable
  }
}

interface RunEventTable {
  run_id: Id
  seq: number
  type: string
  at: Date
  data: ColumnType<Record<string, unknown>, string, never>
}

export interface Logged extends RunEvent {
  seq: number
  at: Date
}

export const eventStore = {
  /** Must run in the transaction of the change that the events describe. */
  async insert(db: Db, runId: Id, events: readonly Logged[]): Promise<void> {
    if (events.length === 0) return
    await db
      .insertInto('run_events')
      .values(events.map(({ seq, type, at, data }) => ({ run_id: runId, seq, type, at, data: JSON.stringify(data) })))
      .execute()
  },

  /** Uses `json` instead of `jsonb` to keep each event byte for byte. */
  async insertMany(db: Db, of: readonly { run: Pick<RunRow, 'id'>; events: readonly Logged[] }[]): Promise<void> {
    const rows = of.flatMap(({ run, events }) => events.map((event) => ({ run_id: run.id, ...event })))
    if (rows.length === 0) return
    await sql`insert into run_events (run_id, seq, type, at, data) select run_id, seq, type, at, data
      from json_to_recordset(${JSON.stringify(rows)}::json) as x(run_id ulid, seq int, type text, at timestamptz, data json)`.execute(
      db,
    )
  },

  async after({ pool }: Postgres, runId: Id, seq: number, limit: number): Promise<Logged[]> {
    const { rows } = await pool.query<Logged>({
      name: 'run_events_after',
      text: 'select seq, type, at, data from run_events where run_id = $1 and seq > $2 order by seq limit $3',
      values: [runId, seq, limit],
    })
    return rows
  },

  all: async (db: Db, runId: Id): Promise<Logged[]> =>
    db
      .selectFrom('run_events')
      .select(['seq', 'type', 'at', 'data'])
      .where('run_id', '=', runId)
      .orderBy('seq')
      .execute(),

  async last(db: Db, runId: Id): Promise<{ seq: number; type: string | null }> {
    const row = await db
      .selectFrom('run_events')
      .select(['seq', 'type'])
      .where('run_id', '=', runId)
      .orderBy('seq', 'desc')
      .limit(1)
      .executeTakeFirst()
    return row ?? { seq: 0, type: null }
  },

  /** Returns the watched runs that have newer events, have ended, or were deleted. */
  async moved({ pool }: Postgres, watched: readonly { id: Id; seq: number }[]): Promise<{ id: Id; seq: number }[]> {
    const { rows } = await pool.query<{ id: Id; seq: number }>({
      name: 'runs_moved',
      text: `select x.id, x.seq from unnest($1::ulid[], $2::int[]) x(id, seq)
        where exists (select from run_events e where e.run_id = x.id and e.seq > x.seq)
          or not exists (select from runs r where r.id = x.id and (r.status in ('queued', 'running')
            -- A watcher that needs no events waits for the end or for a pending approval.
            or (r.status = 'requires_action' and x.seq < 2147483647)))`,
      values: [watched.map(({ id }) => id), watched.map(({ seq }) => seq)],
    })
    return rows
  },
}
