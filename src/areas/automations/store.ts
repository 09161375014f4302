import { type ColumnType, type JSONColumnType, type Selectable, type Updateable, sql } from 'kysely'
import type { Db } from '#engine/postgres/client.ts'
import { nextTime } from '#engine/postgres/client.ts'
import type { SealedColumns } from '#engine/reseal.ts'
import { type ResourcePage, type ResourceRow, resourcePage } from '#engine/resources.ts'
import type { ErrorBody } from '#kernel/errors.ts'
import type { Id } from '#kernel/ids.ts'
import type { Nano } from '#kernel/money.ts'

declare module '#engine/postgres/tables.ts' {
  interface Database {
    automations: AutomationTable
    automation_runs: RunTable
    automation_secrets: SecretTable
  }
}

export type Action =
  | { type: 'agent'; agent_id: Id; chat_id: Id | null; prompt: string }
  | { type: 'command'; computer_id: Id; command: string }

interface AutomationTable {
  id: Id
  name: string
  kind: 'cron' | 'webhook'
  schedule: string | null
  time_zone: string | null
  action: JSONColumnType<Action>
  overlap: 'skip' | 'queue' | 'cancel_previous' | 'allow'
  catch_up: 'none' | 'latest' | 'all'
  catch_up_window_seconds: number
  max_cost_nano: Nano | null
  timeout_seconds: number
  account_id: Id
  scopes: string[] | null
  held_to: Id | null
  key_id: Id | null
  next_fire_at: Date | null
  last_fired_at: ColumnType<Date | null, never, Date | null>
  failures: ColumnType<number, never, number>
  paused_reason: ColumnType<'failures' | null, never, 'failures' | null>
  paused_at: ColumnType<Date | null, never, Date | null>
  token_hash: Buffer | null
  sealed_secret: string | null
}
export type AutomationRow = Selectable<AutomationTable> & Omit<ResourceRow, 'kind'> & { workspace_status: string }

/** It fires no more, and what waits is not begun: it is archived, or its workspace is. */
export const isAsleep = ({ status, workspace_status }: Pick<AutomationRow, 'status' | 'workspace_status'>): boolean =>
  status !== 'active' || workspace_status !== 'active'

/** A secret and token that were rotated away and count until they expire. */
interface SecretTable {
  id: Id
  automation_id: Id
  token_hash: Buffer
  sealed_secret: string
  expires_at: Date
}

export type RunStatus = 'queued' | 'running' | 'succeeded' | 'failed' | 'cancelled' | 'timed_out' | 'skipped'
export type Trigger = 'cron' | 'webhook' | 'test' | 'retry'
export type SkipReason = 'overlap' | 'missed' | 'archived' | 'budget'

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
  error: ColumnType<ErrorBody['error'] | null, never, string | null>
  cost_nano: ColumnType<Nano | null, never, Nano | null>
  created_at: ColumnType<Date, Date | undefined, never>
  updated_at: ColumnType<Date, Date | undefined, Date>
  started_at: ColumnType<Date | null, never, Date | null>
  completed_at: Date | null
}
export type AutomationRunRow = Selectable<RunTable>

export interface Stats {
  runs: number
  succeeded: number
  failed: number
  cost_nano: Nano
  last_30_days_nano: Nano
}

const whole = (db: Db) =>
  // The automation's own kind is the one that stays.
  db
    .selectFrom('resources as r')
    .innerJoin('automations as a', 'a.id', 'r.id')
    .selectAll(['r', 'a'])
    .select(sql<string>`(select w.status from workspaces w where w.id = r.workspace_id)`.as('workspace_status'))
    .$castTo<AutomationRow>()

/** For `resealAll`. */
export const automationSecrets: readonly SealedColumns[] = [
  { table: 'automations', columns: ['sealed_secret'] },
  { table: 'automation_secrets', columns: ['sealed_secret'] },
]

/** Of a webhook's former secrets so many count at most. */
const MOST_SECRETS = 20

export const automationStore = {
  get: (db: Db, id: Id): Promise<AutomationRow | undefined> => whole(db).where('r.id', '=', id).executeTakeFirst(),

  /** Nobody else fires or changes it until the transaction ends. */
  hold: (db: Db, id: Id): Promise<AutomationRow | undefined> =>
    whole(db).where('r.id', '=', id).forUpdate('a').executeTakeFirst(),

  list: (db: Db, page: Omit<ResourcePage, 'kind'>): Promise<AutomationRow[]> =>
    db
      .selectFrom(resourcePage({ ...page, kind: 'automation' }).as('r'))
      .innerJoin('automations as a', 'a.id', 'r.id')
      .selectAll(['r', 'a'])
      .$castTo<AutomationRow>()
      .orderBy('r.id', 'desc')
      .execute(),

  insert: async (
    db: Db,
    row: Omit<Selectable<AutomationTable>, 'last_fired_at' | 'failures' | 'paused_reason' | 'paused_at'>,
  ): Promise<void> =>
    void (await db
      .insertInto('automations')
      .values({ ...row, action: JSON.stringify(row.action) })
      .execute()),

  update: async (db: Db, id: Id, changes: Updateable<AutomationTable>): Promise<void> =>
    void (
      Object.keys(changes).length > 0 &&
      (await db.updateTable('automations').set(changes).where('id', '=', id).execute())
    ),

  /** Former secrets that still count, newest first. */
  formerSecrets: (db: Db, id: Id, now: Date): Promise<Selectable<SecretTable>[]> =>
    db
      .selectFrom('automation_secrets')
      .selectAll()
      .where('automation_id', '=', id)
      .where('expires_at', '>', now)
      .orderBy('id', 'desc')
      .limit(MOST_SECRETS)
      .execute(),

  /** Keeps a secret that is rotated away. Null: it and all before it count no more. */
  async retire(db: Db, automationId: Id, secret: Selectable<SecretTable> | null): Promise<void> {
    if (secret !== null) await db.insertInto('automation_secrets').values(secret).execute()
    await sql`delete from automation_secrets where automation_id = ${automationId} and (${secret === null} or expires_at <= now()
      or id not in (select id from automation_secrets where automation_id = ${automationId} order by id desc limit ${MOST_SECRETS}))`.execute(
      db,
    )
  },

  /**
   * Those with a tick to fire, held by whoever takes them; what somebody else holds is left to them. Who is on time goes
   * before who has long to make up for.
   */
  async due(db: Db, now: Date, limit: number): Promise<AutomationRow[]> {
    const { rows } = await sql<AutomationRow>`
      select r.*, a.*, w.status as workspace_status from automations a
        join resources r on r.id = a.id join workspaces w on w.id = r.workspace_id
        where a.next_fire_at <= ${now}
        order by a.next_fire_at < ${now}::timestamptz - interval '1 minute', a.next_fire_at limit ${limit} for update of a skip locked`.execute(
      db,
    )
    return rows
  },

  /** The moves of many at once. */
  async advance(db: Db, moves: readonly { id: Id; next: Date | null; fired: Date | null }[]): Promise<void> {
    await sql`update automations a set next_fire_at = m.next, last_fired_at = coalesce(m.fired, a.last_fired_at)
      from unnest(${moves.map(({ id }) => id)}::text[], ${moves.map(({ next }) => next)}::timestamptz[],
        ${moves.map(({ fired }) => fired)}::timestamptz[]) m(id, next, fired) where a.id = m.id`.execute(db)
  },
}

export interface RunPage {
  in: { automationId: Id } | { workspaceId: Id }
  status: RunStatus | undefined
  before: Id | null
  limit: number
}

export const runStore = {
  get: (db: Db, id: Id): Promise<AutomationRunRow | undefined> =>
    db.selectFrom('automation_runs').selectAll().where('id', '=', id).executeTakeFirst(),

  /** Holds a run and before it its automation: everybody who takes both takes them in this order. */
  async hold(db: Db, id: Id): Promise<AutomationRunRow | undefined> {
    await sql`select 1 from automations where id = (select automation_id from automation_runs where id = ${id}) for update`.execute(
      db,
    )
    return runStore.holdAlone(db, id)
  },

  holdAlone: (db: Db, id: Id): Promise<AutomationRunRow | undefined> =>
    db.selectFrom('automation_runs').selectAll().where('id', '=', id).forUpdate().executeTakeFirst(),

  /** The run that a chat's run was begun for, also when another attempt has taken its place. */
  async ofRun(db: Db, runId: Id): Promise<Id | null> {
    const { rows } = await sql<{ id: Id }>`
      select automation_run_id as id from runs where id = ${runId} and automation_run_id is not null
      union all select id from automation_runs where run_id = ${runId} limit 1`.execute(db)
    return rows[0]?.id ?? null
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
      .$if(before !== null, (query) => query.where('id', '<', before!))
      .orderBy('id', 'desc')
      .limit(limit)
      .execute(),

  /** Those that are not there yet; a tick or webhook that somebody has written already stays as it is. */
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
          .values([...rows])
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

  /** How many of each automation wait or go on. */
  async busy(db: Db, automationIds: readonly Id[]): Promise<Map<Id, Id[]>> {
    const { rows } = await sql<{ automation_id: Id; ids: Id[] }>`
      select automation_id, array_agg(id::text order by id) as ids from automation_runs
      where automation_id = any(${automationIds}::text[]) and status in ('queued', 'running') group by 1`.execute(db)
    return new Map(rows.map(({ automation_id, ids }) => [automation_id, ids]))
  },

  /** Whether one of an automation's runs goes on. */
  async goesOn(db: Db, automationId: Id): Promise<boolean> {
    const { rows } =
      await sql`select 1 from automation_runs where automation_id = ${automationId} and status = 'running' limit 1`.execute(
        db,
      )
    return rows.length > 0
  },

  /** Ids of those whose turn it is: nothing of the same automation goes on or waits longer, unless it may overlap. */
  async ready(db: Db, limit: number): Promise<Id[]> {
    const { rows } = await sql<{ id: Id }>`
      select x.id from automation_runs x join automations a on a.id = x.automation_id
      where x.status = 'queued' and (a.overlap = 'allow' or not exists (
        select from automation_runs y where y.automation_id = x.automation_id
          and (y.status = 'running' or (y.status = 'queued' and y.id < x.id))))
      order by x.id limit ${limit}`.execute(db)
    return rows.map(({ id }) => id)
  },

  /** Those that a firing was to replace and nobody stopped: whoever took it may have died. */
  async superseded(db: Db): Promise<Id[]> {
    const { rows } = await sql<{ id: Id }>`
      select x.id from automation_runs x join automations a on a.id = x.automation_id
      where x.status in ('queued', 'running') and x.trigger <> 'retry' and a.overlap = 'cancel_previous'
        and exists (select from automation_runs y where y.automation_id = x.automation_id and y.status = 'queued' and y.id > x.id)
      limit 500`.execute(db)
    return rows.map(({ id }) => id)
  },

  /** Runs of chats that go on for a run which was stopped, or for an automation that is gone. */
  async unstopped(db: Db): Promise<{ id: Id; chat_id: Id }[]> {
    const { rows } = await sql<{ id: Id; chat_id: Id }>`
      select u.id, u.chat_id from runs u left join automation_runs x on x.id = u.automation_run_id
      where u.automation_run_id is not null and u.status in ('queued', 'running', 'requires_action') and u.attempt = 1
        and (x.id is null or x.status in ('cancelled', 'timed_out')) limit 100`.execute(db)
    return rows
  },

  /** Those that have gone on for longer than they may. */
  async overdue(db: Db): Promise<AutomationRunRow[]> {
    const { rows } =
      await sql<AutomationRunRow>`select x.* from automation_runs x join automations a on a.id = x.automation_id
      where x.status = 'running' and x.started_at < now() - make_interval(secs => a.timeout_seconds) limit 100`.execute(
        db,
      )
    return rows
  },

  /** Those whose chat's run has ended without a word having come of it. */
  async unheard(db: Db): Promise<Id[]> {
    const { rows } = await sql<{
      run_id: Id
    }>`select x.run_id from automation_runs x left join runs u on u.id = x.run_id
      where x.status = 'running' and x.started_at < now() - interval '30 seconds'
        and (u.id is null or u.status in ('completed', 'failed', 'cancelled')) limit 500`.execute(db)
    return rows.map(({ run_id }) => run_id)
  },

  async stats(db: Db, where: { automationId: Id } | { workspaceId: Id }): Promise<Map<Id, Stats>> {
    const place =
      'automationId' in where
        ? sql`x.automation_id = ${where.automationId}`
        : sql`x.workspace_id = ${where.workspaceId}`
    const { rows } = await sql<Stats & { automation_id: Id }>`select x.automation_id,
        count(*) filter (where x.status not in ('skipped', 'queued'))::int as runs,
        count(*) filter (where x.status = 'succeeded')::int as succeeded,
        count(*) filter (where x.status in ('failed', 'timed_out'))::int as failed,
        coalesce(sum(x.cost_nano), 0)::bigint as cost_nano,
        coalesce(sum(x.cost_nano) filter (where x.created_at > now() - interval '30 days'), 0)::bigint as last_30_days_nano
      from automation_runs x where ${place} group by 1`.execute(db)
    return new Map(rows.map(({ automation_id, ...stats }) => [automation_id, stats]))
  },

  /** Drops skipped ticks of more than 30 days ago and runs of more than a year ago. */
  async retain(db: Db): Promise<void> {
    await sql`delete from automation_runs where status = 'skipped' and created_at < now() - interval '30 days'
      or status <> 'skipped' and created_at < now() - interval '1 year' and completed_at is not null`.execute(db)
  },
}
