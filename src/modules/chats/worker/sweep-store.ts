import { sql } from 'kysely'
import type { Db } from '#infra/postgres/client.ts'
import type { Id } from '#core/ids.ts'
import type { RunRow } from '../runs/run-store.ts'

export const sweepStore = {
  /** Returns whether any run is unfinished. If not, the other queries can be skipped. */
  async hasUnfinished(db: Db): Promise<boolean> {
    const { rows } = await sql<{ some: boolean }>`select
      exists (select from runs where status in ('running', 'requires_action'))
      or exists (select from runs where status = 'queued') as some`.execute(db)
    return rows[0]!.some
  },

  toCancel: async (db: Db, processId: Id): Promise<Id[]> =>
    (
      await db
        .selectFrom('runs')
        .select('id')
        .where('process_id', '=', processId)
        .where('status', '=', 'running')
        .where('cancel_requested_at', 'is not', null)
        .execute()
    ).map(({ id }) => id),

  async lost(db: Db, processId: Id, ids: readonly Id[]): Promise<Id[]> {
    if (ids.length === 0) return []
    const { rows } = await sql<{ id: Id }>`select x.id from unnest(${ids}::ulid[]) x(id) left join runs r on r.id = x.id
      where r.id is null or (r.status = 'running' and r.process_id <> ${processId})`.execute(db)
    return rows.map(({ id }) => id)
  },

  /** Runs of a dead process, or of this one if unchanged for 5 s. The caller skips its live runs. */
  orphans: (db: Db, processId: Id): Promise<RunRow[]> =>
    db
      .selectFrom('runs')
      .selectAll()
      .where('status', '=', 'running')
      .where(sql<boolean>`(process_id = ${processId} and updated_at < now() - interval '5 seconds'
        or not exists (select from processes p where p.id = process_id and p.expires_at > now()))`)
      .limit(200)
      .execute(),

  expired: (db: Db): Promise<RunRow[]> =>
    db
      .selectFrom('runs')
      .selectAll()
      .where('status', '=', 'requires_action')
      .where('actions_expire_at', '<=', sql<Date>`clock_timestamp()`)
      .limit(200)
      .execute(),

  /** Delegated runs whose parent has ended, is stopping, was deleted or started a new attempt. */
  async abandoned(db: Db): Promise<RunRow[]> {
    const { rows } = await sql<RunRow>`select c.* from runs c left join runs p on p.id = c.parent_run_id
      where c.parent_call is not null and c.status in ('queued', 'running', 'requires_action')
        -- A retried task belongs to the person who retried it.
        and c.cancel_requested_at is null and c.attempt = 1
        and (p.id is null or p.status in ('completed', 'failed', 'cancelled') or p.cancel_requested_at is not null
          or split_part(c.parent_call, ':', 1) <> p.attempt::text)
      limit 200`.execute(db)
    return rows
  },

  async withFinishedTask(db: Db): Promise<RunRow[]> {
    const { rows } = await sql<RunRow>`select p.* from runs p where p.status = 'requires_action' and exists (
        select from jsonb_array_elements(p.pending_actions) a left join runs c on c.id = (a -> 'arguments' ->> 'run_id')::bpchar
        where a ->> 'kind' = 'subagent' and (c.id is null or c.status in ('completed', 'failed', 'cancelled')))
      limit 200`.execute(db)
    return rows
  },

  stalled: async (db: Db): Promise<Id[]> => {
    const { rows } = await sql<{ chat_id: Id }>`select distinct chat_id from runs q where status = 'queued'
        and not exists (select from runs a where a.chat_id = q.chat_id and a.status in ('running', 'requires_action'))
      limit 200`.execute(db)
    return rows.map((row) => row.chat_id)
  },
}
