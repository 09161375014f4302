import { type UpdateObject, sql } from 'kysely'
import { type Db, nextTime, nextTimeOf } from '#infra/postgres/client.ts'
import type { Database } from '#infra/postgres/tables.ts'
import type { ErrorBody } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import type { Nano } from '#core/money.ts'
import type { Usage } from '#core/usage.ts'
import { type PendingAction, type RunRow, decimal, firstExpiry } from './run-store.ts'

type RunClaim = Pick<RunRow, 'id' | 'fence'>
/** Updates the run if this claim still holds. Returns undefined if another process took over or the run ended. */
const byHolder = (
  db: Db,
  { id, fence }: RunClaim,
  to: UpdateObject<Database, 'runs', 'runs'>,
): Promise<RunRow | undefined> =>
  db
    .updateTable('runs')
    .set({ ...to, updated_at: nextTime })
    .where('id', '=', id)
    .where('fence', '=', fence)
    .where('status', '=', 'running')
    .returningAll()
    .executeTakeFirst()

/** Claims on runs. Each claim increments the run's fence, so writes of an earlier claim are ignored. */
export const claimStore = {
  /** Queued → running in this process. Undefined if the run isn't queued anymore. */
  start: (db: Db, id: Id, processId: Id): Promise<RunRow | undefined> =>
    db
      .updateTable('runs')
      .set({
        status: 'running',
        status_reason: null,
        process_id: processId,
        fence: sql<number>`fence + 1`,
        started_at: sql<Date>`coalesce(started_at, clock_timestamp())`,
        updated_at: nextTime,
      })
      .where('id', '=', id)
      .where('status', '=', 'queued')
      .returningAll()
      .executeTakeFirst(),

  nextOf: async (db: Db, chatIds: readonly Id[]): Promise<Id[]> => {
    const { rows } = await sql<{ id: Id }>`select distinct on (chat_id) chat_id, id from runs q
      where chat_id = any(${chatIds}::ulid[]) and status = 'queued'
        and not exists (select from runs a where a.chat_id = q.chat_id and a.status in ('running', 'requires_action'))
      order by chat_id, place`.execute(db)
    return rows.map(({ id }) => id)
  },

  next: async (db: Db, chatId: Id): Promise<Id | null> => {
    const { rows } = await sql<{ id: Id }>`select id from runs q where chat_id = ${chatId} and status = 'queued'
        and not exists (select from runs a where a.chat_id = q.chat_id and a.status in ('running', 'requires_action'))
      order by place limit 1`.execute(db)
    return rows[0]?.id ?? null
  },

  takeOver: (db: Db, run: RunClaim, processId: Id): Promise<RunRow | undefined> =>
    byHolder(db, run, {
      process_id: processId,
      fence: sql<number>`fence + 1`,
      adoptions: sql<number>`adoptions + 1`,
    }),

  release: (db: Db, run: RunClaim): Promise<RunRow | undefined> =>
    byHolder(db, run, {
      status: 'queued',
      status_reason: 'restarted',
      process_id: null,
      fence: sql<number>`fence + 1`,
    }),

  /** Finishes many runs at once. Returns only runs whose claim still holds. */
  async finish(
    db: Db,
    ends: readonly {
      run: RunClaim
      status: 'completed' | 'failed' | 'cancelled'
      error: ErrorBody['error'] | null
      payer_error: ErrorBody['error'] | null
      usage: Usage | null
      cost: Nano | null
    }[],
  ): Promise<Map<Id, RunRow>> {
    const endRows = ends.map(({ run: { id, fence }, cost, ...end }) => ({ ...end, id, fence, cost: decimal(cost) }))
    const { rows } = await sql<RunRow>`update runs r set status = e.status, status_reason = null, error = e.error,
        payer_error = e.payer_error, usage = e.usage,
        cost_nano = case when e.cost is null then r.cost_nano else coalesce(r.cost_nano, 0) + e.cost end, pending_actions = '[]',
        process_id = null, completed_at = date_trunc('milliseconds', clock_timestamp()),
        updated_at = ${nextTimeOf('r')}
      from jsonb_to_recordset(${JSON.stringify(endRows)}::jsonb) as e(id ulid, fence int, status text, error jsonb, payer_error jsonb, usage jsonb, cost bigint)
      where r.id = e.id and r.id = any(${ends.map(({ run }) => run.id)}::ulid[]) and r.fence = e.fence and r.status in ('queued', 'running', 'requires_action') returning r.*`.execute(
      db,
    )
    return new Map(rows.map((row) => [row.id, row]))
  },

  pause: (db: Db, run: RunClaim, pending: readonly PendingAction[]): Promise<RunRow | undefined> =>
    byHolder(db, run, {
      status: 'requires_action',
      status_reason: pending[0]?.kind ?? null,
      pending_actions: JSON.stringify(pending),
      actions_expire_at: firstExpiry(pending),
      process_id: null,
    }),

  keep: (
    db: Db,
    run: RunClaim,
    { usage, cost }: { usage: Usage | null; cost: Nano | null },
  ): Promise<RunRow | undefined> =>
    byHolder(db, run, {
      usage: usage && JSON.stringify(usage),
      ...(cost !== null && { cost_nano: sql<Nano>`coalesce(cost_nano, 0) + ${cost}` }),
    }),

  /** Checks that the claim holds, and locks the run until the transaction ends. */
  isHeld: async (db: Db, { id, fence }: RunClaim): Promise<boolean> =>
    (await db
      .selectFrom('runs')
      .select('id')
      .where('id', '=', id)
      .where('fence', '=', fence)
      .where('status', '=', 'running')
      .forShare()
      .executeTakeFirst()) !== undefined,
}
