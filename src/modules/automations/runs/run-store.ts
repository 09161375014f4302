import { type ColumnType, type Selectable, type Updateable, sql } from 'kysely'
import { type Db, nextTime, nextTimeOf } from '#infra/postgres/client.ts'
import { newestFirst } from '#infra/postgres/newest-first.ts'
import type { ErrorBody } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import type { Nano } from '#core/money.ts'

declare module '#infra/postgres/tables.ts' {
  interface Database {
    automation_runs: RunTable
  }
}

export type RunStatus = 'queued' | 'running' | 'succeeded' | 'failed' | 'cancelled' | 'timed_out' | 'skipped'
export type Trigger = 'cron' | 'webhook' | 'test' | 'retry'
export type SkipReason = 'overlap' | 'missed' | 'archived' | 'budget' | 'rate_limited' | 'paused'

interface RunTable {
  id: Id
  automation_id: Id
  workspace_id: Id
  status: RunStatus
  skip_reason: SkipReason | null
  attempt: ColumnType<number, number | undefined, number>
  trigger: Trigger
  scheduled_for: Date | null
  webhook_id: string | null
  payload: string | null
  chat_id: ColumnType<Id | null, never, Id | null>
  run_id: ColumnType<Id | null, never, Id | null>
  operation_id: ColumnType<Id | null, never, Id | null>
  error: ColumnType<ErrorBody['error'] | null, never, string | null>
  cost_nano: ColumnType<Nano | null, never, Nano | null>
  created_at: ColumnType<Date, Date | undefined, never>
  updated_at: ColumnType<Date, Date | undefined, Date>
  started_at: ColumnType<Date | null, never, Date | null>
  completed_at: Date | null
}
export type AutomationRunRow = Selectable<RunTable>

export interface RunPage {
  in: { automationId: Id } | { workspaceId: Id }
  status: RunStatus | undefined
  before: Id | null
  limit: number
}

export const runStore = {
  get: (db: Db, id: Id): Promise<AutomationRunRow | undefined> =>
    db.selectFrom('automation_runs').selectAll().where('id', '=', id).executeTakeFirst(),

  /** Locks the automation, then the run. Every caller uses this order. */
  async lock(db: Db, id: Id): Promise<AutomationRunRow | undefined> {
    await sql`select 1 from automations where id = (select automation_id from automation_runs where id = ${id}) for update`.execute(
      db,
    )
    return runStore.lockAlone(db, id)
  },

  lockAlone: (db: Db, id: Id): Promise<AutomationRunRow | undefined> =>
    db.selectFrom('automation_runs').selectAll().where('id', '=', id).forUpdate().executeTakeFirst(),

  /** Locks the automation runs behind these chat runs, including earlier attempts, after their automations. */
  async lockOf(db: Db, runIds: readonly Id[]): Promise<{ runId: Id; run: AutomationRunRow }[]> {
    const { rows: pairs } = await sql<{ run_id: Id; id: Id; automation_id: Id }>`
      select f.run_id, x.id, x.automation_id from (
        select id as run_id, automation_run_id as id from runs where id = any(${runIds}::ulid[]) and automation_run_id is not null
        union select run_id, id from automation_runs where run_id = any(${runIds}::ulid[])) f join automation_runs x on x.id = f.id`.execute(
      db,
    )
    if (pairs.length === 0) return []
    const automationIds = [...new Set(pairs.map(({ automation_id }) => automation_id))]
    await sql`select 1 from automations where id = any(${automationIds}::ulid[]) order by id for update`.execute(db)
    const ids = [...new Set(pairs.map(({ id }) => id))]
    const { rows } = await sql<AutomationRunRow>`select * from automation_runs where id = any(${ids}::ulid[])
      order by id for update`.execute(db)
    const runs = new Map(rows.map((row) => [row.id, row]))
    return pairs.flatMap(({ run_id, id }) => (runs.has(id) ? [{ runId: run_id, run: runs.get(id)! }] : []))
  },

  async succeed(db: Db, successes: readonly { id: Id; cost: Nano | null }[], at: Date): Promise<AutomationRunRow[]> {
    const { rows } = await sql<AutomationRunRow>`update automation_runs x set status = 'succeeded', error = null,
        cost_nano = greatest(x.cost_nano, e.cost), completed_at = ${at},
        updated_at = ${nextTimeOf('x')}
      from unnest(${successes.map(({ id }) => id)}::ulid[], ${successes.map(({ cost }) => cost)}::int8[]) as e(id, cost)
      where x.id = e.id and x.status = 'running' returning x.*`.execute(db)
    return rows
  },

  async waits(db: Db, automationIds: readonly Id[]): Promise<boolean> {
    const { rows } = await sql`select 1 from automation_runs
      where automation_id = any(${automationIds}::ulid[]) and status = 'queued' limit 1`.execute(db)
    return rows.length > 0
  },

  byWebhook: (db: Db, automationId: Id, webhookId: string): Promise<AutomationRunRow | undefined> =>
    db
      .selectFrom('automation_runs')
      .selectAll()
      .where('automation_id', '=', automationId)
      .where('webhook_id', '=', webhookId)
      .executeTakeFirst(),

  list: (db: Db, { in: place, status, before, limit }: RunPage): Promise<AutomationRunRow[]> =>
    db
      .selectFrom('automation_runs')
      .selectAll()
      .$if('automationId' in place, (query) =>
        query.where('automation_id', '=', (place as { automationId: Id }).automationId),
      )
      .$if('workspaceId' in place, (query) =>
        query.where('workspace_id', '=', (place as { workspaceId: Id }).workspaceId),
      )
      .$if(status !== undefined, (query) => query.where('status', '=', status!))
      .$call(newestFirst('id', before, limit))
      .execute(),

  /** Skips ticks and webhook IDs that already have a row. */
  insert: (
    db: Db,
    rows: readonly Pick<
      AutomationRunRow,
      | 'id'
      | 'automation_id'
      | 'workspace_id'
      | 'status'
      | 'skip_reason'
      | 'trigger'
      | 'scheduled_for'
      | 'webhook_id'
      | 'payload'
      | 'completed_at'
    >[],
  ): Promise<AutomationRunRow[]> =>
    rows.length === 0
      ? Promise.resolve([])
      : db
          .insertInto('automation_runs')
          // So `completed_at` isn't before `created_at`.
          .values(rows.map((row) => ({ ...row, completed_at: row.completed_at && sql<Date>`clock_timestamp()` })))
          .onConflict((conflict) => conflict.doNothing())
          .returningAll()
          .execute(),

  update: (db: Db, id: Id, changes: Updateable<RunTable>): Promise<AutomationRunRow> =>
    db
      .updateTable('automation_runs')
      .set({ ...changes, updated_at: nextTime })
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirstOrThrow(),

  async busy(db: Db, automationIds: readonly Id[]): Promise<Map<Id, Id[]>> {
    const { rows } = await sql<{ automation_id: Id; ids: Id[] }>`
      select automation_id, array_agg(id::text order by id) as ids from automation_runs
      where automation_id = any(${automationIds}::ulid[]) and status in ('queued', 'running') group by 1`.execute(db)
    return new Map(rows.map(({ automation_id, ids }) => [automation_id, ids]))
  },

  async hasRunning(db: Db, automationId: Id): Promise<boolean> {
    const { rows } =
      await sql`select 1 from automation_runs where automation_id = ${automationId} and status = 'running' limit 1`.execute(
        db,
      )
    return rows.length > 0
  },

  async waitingIn(db: Db, after: Id | null, limit: number): Promise<Id[]> {
    const { rows } = await sql<{ id: Id }>`with recursive w(id) as (
        (select workspace_id from automation_runs where status = 'queued' and workspace_id > ${after ?? ''}
          order by workspace_id limit 1)
        union all
        select (select x.workspace_id from automation_runs x where x.status = 'queued' and x.workspace_id > w.id
          order by x.workspace_id limit 1) from w where w.id is not null
      ) select id from w where id is not null limit ${limit}`.execute(db)
    return rows.map(({ id }) => id)
  },

  /** Runs that can start: no run of the same automation is running or queued earlier, unless they may overlap. */
  async ready(db: Db, workspaceIds: readonly Id[], { each, but }: { each: number; but: readonly Id[] }): Promise<Id[]> {
    const { rows } = await sql<{ id: Id }>`
      select t.id from unnest(${workspaceIds}::ulid[]) w(id) cross join lateral (
        select x.id from automation_runs x join automations a on a.id = x.automation_id
        where x.workspace_id = w.id and x.status = 'queued' and x.id <> all(${but}::ulid[]) and (a.overlap = 'allow' or not exists (
          select from automation_runs y where y.automation_id = x.automation_id
            and (y.status = 'running' or (y.status = 'queued' and y.id < x.id))))
        order by x.id limit ${each} for update of a, x skip locked) t`.execute(db)
    return rows.map(({ id }) => id)
  },

  /** Locks runs with their automations, skipping those locked elsewhere. */
  async lockEach(db: Db, ids: readonly Id[]): Promise<Id[]> {
    const { rows } = await sql<{
      id: Id
    }>`select x.id from automation_runs x join automations a on a.id = x.automation_id
      where x.id = any(${ids}::ulid[]) and x.status = 'queued' order by x.id for update of a, x skip locked`.execute(db)
    return rows.map(({ id }) => id)
  },

  /** Rechecks after locking, because the state may have changed. */
  async stillReady(db: Db, ids: readonly Id[]): Promise<AutomationRunRow[]> {
    const { rows } = await sql<AutomationRunRow>`
      select x.* from automation_runs x join automations a on a.id = x.automation_id
      where x.id = any(${ids}::ulid[]) and x.status = 'queued' and (a.overlap = 'allow' or not exists (
        select from automation_runs y where y.automation_id = x.automation_id
          and (y.status = 'running' or (y.status = 'queued' and y.id < x.id))))
      order by x.id`.execute(db)
    return rows
  },

  async begin(db: Db, starts: readonly { id: Id; chat_id: Id; run_id: Id }[]): Promise<void> {
    await sql`update automation_runs x set status = 'running', chat_id = b.chat_id, run_id = b.run_id, started_at = clock_timestamp(),
        error = null, updated_at = ${nextTimeOf('x')}
      from jsonb_to_recordset(${JSON.stringify(starts)}::jsonb) as b(id ulid, chat_id ulid, run_id ulid) where x.id = b.id`.execute(
      db,
    )
  },

  /** Runs to be replaced that weren't stopped, because a process died. */
  async superseded(db: Db): Promise<Id[]> {
    const { rows } = await sql<{ id: Id }>`
      select x.id from automation_runs x join automations a on a.id = x.automation_id
      where x.status in ('queued', 'running') and x.trigger <> 'retry' and a.overlap = 'cancel_previous'
        and exists (select from automation_runs y where y.automation_id = x.automation_id and y.status = 'queued' and y.id > x.id)
      limit 500`.execute(db)
    return rows.map(({ id }) => id)
  },

  /** Chat runs still active for a stopped run or a deleted automation. */
  async unstopped(db: Db): Promise<{ id: Id; chat_id: Id }[]> {
    const { rows } = await sql<{ id: Id; chat_id: Id }>`
      select u.id, u.chat_id from runs u left join automation_runs x on x.id = u.automation_run_id
      where u.automation_run_id is not null and u.status in ('queued', 'running', 'requires_action') and u.attempt = 1
        and (x.id is null or x.status in ('cancelled', 'timed_out')) limit 100`.execute(db)
    return rows
  },

  async overdue(db: Db): Promise<AutomationRunRow[]> {
    const { rows } =
      await sql<AutomationRunRow>`select x.* from automation_runs x join automations a on a.id = x.automation_id
      where x.status = 'running' and x.started_at < now() - make_interval(secs => a.timeout_seconds) limit 100`.execute(
        db,
      )
    return rows
  },

  /** Runs whose chat run ended without an event. */
  async unsettled(db: Db): Promise<Id[]> {
    const { rows } = await sql<{
      run_id: Id
    }>`select x.run_id from automation_runs x left join runs u on u.id = x.run_id
      where x.status = 'running' and x.operation_id is null and x.started_at < now() - interval '30 seconds'
        and (u.id is null or u.status in ('completed', 'failed', 'cancelled')) limit 500`.execute(db)
    return rows.map(({ run_id }) => run_id)
  },

  async byOperation(db: Db, operationId: Id): Promise<Id | null> {
    const row = await db
      .selectFrom('automation_runs')
      .select('id')
      .where('operation_id', '=', operationId)
      .executeTakeFirst()
    return row?.id ?? null
  },

  /** Operations that ended or were deleted without an event. */
  async unsettledCommands(db: Db): Promise<Id[]> {
    const { rows } = await sql<{ operation_id: Id }>`select x.operation_id from automation_runs x
      left join operations o on o.id = x.operation_id
      where x.status = 'running' and x.operation_id is not null and x.started_at < now() - interval '30 seconds'
        and (o.id is null or o.status not in ('queued', 'running')) limit 500`.execute(db)
    return rows.map(({ operation_id }) => operation_id)
  },

  /** Deletes skipped runs after 30 days and others after one year. */
  async retain(db: Db): Promise<void> {
    await sql`delete from automation_runs where status = 'skipped' and created_at < now() - interval '30 days'
      or status <> 'skipped' and created_at < now() - interval '1 year' and completed_at is not null`.execute(db)
  },
}
