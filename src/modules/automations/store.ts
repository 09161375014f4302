import { type ColumnType, type JSONColumnType, type Selectable, type Updateable, sql } from 'kysely'
import type { Db } from '#infra/postgres/client.ts'
import type { SealedColumns } from '#infra/reseal.ts'
import { type ResourcePage, type ResourceRow, resourcePage } from '#authz/resources.ts'
import type { Id } from '#core/ids.ts'
import type { Behalf } from '#core/principal.ts'
import type { Nano } from '#core/money.ts'
import type { Span } from '#core/time.ts'
import { ON_TIME_MS } from './schedule/ticks.ts'

declare module '#infra/postgres/tables.ts' {
  interface Database {
    automations: AutomationTable
    automation_secrets: SecretTable
  }
}

export type Action =
  | { type: 'agent'; agent_id: Id; chat_id: Id | null; prompt: string }
  | { type: 'command'; computer_id: Id; command: string }

/**
 * `failures`: also archives. `agent_changed`: by someone with fewer permissions. `account_recovered`: by the owner of
 * the email address, who may not know the automation.
 */
export type PausedReason = 'failures' | 'agent_changed' | 'account_recovered'

export const needsApproval = ({ paused_reason }: { paused_reason: PausedReason | null }): boolean =>
  paused_reason === 'agent_changed' || paused_reason === 'account_recovered'

interface AutomationTable extends Behalf {
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
  next_fire_at: Date | null
  last_fired_at: ColumnType<Date | null, never, Date | null>
  failures: ColumnType<number, never, number>
  paused_reason: ColumnType<PausedReason | null, never, PausedReason | null>
  paused_at: ColumnType<Date | null, never, Date | null>
  token_hash: Buffer | null
  sealed_secret: string | null
}
export type AutomationRow = Selectable<AutomationTable> & Omit<ResourceRow, 'kind'> & { workspace_status: string }

/** Why the automation doesn't fire or start queued runs. Null: it's active. */
export const inactiveReason = ({
  status,
  workspace_status,
  paused_reason,
}: Pick<AutomationRow, 'status' | 'workspace_status' | 'paused_reason'>): 'archived' | 'paused' | null =>
  status !== 'active' || workspace_status !== 'active' ? 'archived' : paused_reason === null ? null : 'paused'

/** Rotated secrets and tokens, valid until they expire. */
interface SecretTable {
  id: Id
  automation_id: Id
  token_hash: Buffer
  sealed_secret: string
  expires_at: Date
}

const whole = (db: Db) =>
  // `automations.kind` overrides `resources.kind`.
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

const MAX_SECRETS = 20

export const automationStore = {
  get: (db: Db, id: Id): Promise<AutomationRow | undefined> => whole(db).where('r.id', '=', id).executeTakeFirst(),

  async some(db: Db, ids: readonly Id[]): Promise<Map<Id, AutomationRow>> {
    const rows = await whole(db)
      .where(sql<boolean>`r.id = any(${ids}::ulid[])`)
      .execute()
    return new Map(rows.map((row) => [row.id, row]))
  },

  ofRuns: (db: Db, runIds: readonly Id[]): Promise<AutomationRow[]> =>
    whole(db)
      .where(sql<boolean>`r.id in (select automation_id from automation_runs where id = any(${runIds}::ulid[]))`)
      .execute(),

  lock: (db: Db, id: Id): Promise<AutomationRow | undefined> =>
    whole(db).where('r.id', '=', id).forUpdate('a').executeTakeFirst(),

  /** Counts an account's automations and locks it against concurrent additions. */
  async countForAccount(db: Db, accountId: Id): Promise<number> {
    await db.selectFrom('accounts').select('id').where('id', '=', accountId).forNoKeyUpdate().execute()
    const { count } = await db
      .selectFrom('automations')
      .select((of) => of.fn.countAll<bigint>().as('count'))
      .where('account_id', '=', accountId)
      .executeTakeFirstOrThrow()
    return Number(count)
  },

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

  /** Valid former secrets, newest first. */
  formerSecrets: (db: Db, id: Id, now: Date): Promise<Selectable<SecretTable>[]> =>
    db
      .selectFrom('automation_secrets')
      .selectAll()
      .where('automation_id', '=', id)
      .where('expires_at', '>', now)
      .orderBy('id', 'desc')
      .limit(MAX_SECRETS)
      .execute(),

  /** Stores a rotated secret. Null: revokes all former secrets. */
  async retire(db: Db, automationId: Id, secret: Selectable<SecretTable> | null): Promise<void> {
    if (secret !== null) await db.insertInto('automation_secrets').values(secret).execute()
    await sql`delete from automation_secrets where automation_id = ${automationId} and (${secret === null} or expires_at <= now()
      or id not in (select id from automation_secrets where automation_id = ${automationId} order by id desc limit ${MAX_SECRETS}))`.execute(
      db,
    )
  },

  /** Locks automations that use the agent directly, in a chat, or as a subagent, unless already paused for this. */
  async behindAgent(db: Db, agentId: Id): Promise<AutomationRow[]> {
    const { rows: over } = await sql<{ id: Id }>`with recursive over as (
        select ${agentId}::text collate "C" as id
        union
        select a.id::text collate "C" from over o join agents a on a.subagents @> jsonb_build_array(jsonb_build_object('agent_id', o.id))
      ) select id from over`.execute(db)
    const ids = over.map(({ id }) => id)
    // Joins from automations to chats, because automations may have created millions of chats with one agent.
    const { rows } = await sql<AutomationRow>`
      select r.*, a.*, w.status as workspace_status from automations a
        join resources r on r.id = a.id join workspaces w on w.id = r.workspace_id
        where a.paused_reason is distinct from 'agent_changed' and a.id in (
          select b.id from automations b where b.action ->> 'agent_id' = any(${ids}::text[])
          union all
          select b.id from automations b where b.action ->> 'chat_id' is not null
            and (select c.agent_id from chats c where c.id = (b.action ->> 'chat_id')::ulid) = any(${ids}::ulid[]))
        order by a.id for update of a`.execute(db)
    return rows
  },

  /** Locks the account's automations created in this time, unless they already wait for approval. */
  heldBy: (db: Db, accountId: Id, { from, until }: Span): Promise<AutomationRow[]> =>
    whole(db)
      .where('a.account_id', '=', accountId)
      .where('r.created_at', '>=', from)
      .where('r.created_at', '<=', until)
      .where((of) => of.or([of('a.paused_reason', 'is', null), of('a.paused_reason', '=', 'failures')]))
      .orderBy('a.id')
      .forUpdate('a')
      .execute(),

  inChat: (db: Db, chatId: Id): Promise<AutomationRow[]> =>
    whole(db)
      .where(sql<boolean>`a.action ->> 'chat_id' = ${chatId}`)
      .where('a.paused_reason', 'is distinct from', 'agent_changed')
      .orderBy('a.id')
      .forUpdate('a')
      .execute(),

  forgive: async (db: Db, ids: readonly Id[]): Promise<void> =>
    void (await sql`update automations set failures = 0 where id = any(${ids}::ulid[]) and failures > 0`.execute(db)),

  /** Checked first, because usually none is due. */
  async isDue(db: Db): Promise<boolean> {
    const { rows } = await sql<{
      due: boolean
    }>`select exists (select from automations where next_fire_at <= now()) as due`.execute(db)
    return rows[0]!.due
  },

  /** Locks due automations, skipping those locked elsewhere. Late ones come last. */
  async due(db: Db, now: Date, limit: number): Promise<AutomationRow[]> {
    const { rows } = await sql<AutomationRow>`
      select r.*, a.*, w.status as workspace_status from automations a
        join resources r on r.id = a.id join workspaces w on w.id = r.workspace_id
        where a.next_fire_at <= ${now}
        order by a.next_fire_at < ${new Date(now.getTime() - ON_TIME_MS)}::timestamptz, a.next_fire_at limit ${limit} for update of a skip locked`.execute(
      db,
    )
    return rows
  },

  async advance(db: Db, moves: readonly { id: Id; next: Date | null; firedAt: Date | null }[]): Promise<void> {
    await sql`update automations a set next_fire_at = m.next, last_fired_at = coalesce(m.fired, a.last_fired_at)
      from unnest(${moves.map(({ id }) => id)}::ulid[], ${moves.map(({ next }) => next)}::timestamptz[],
        ${moves.map(({ firedAt }) => firedAt)}::timestamptz[]) m(id, next, fired) where a.id = m.id`.execute(db)
  },
}
