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
 * The reason why the server paused an automation: it kept failing, which archives it too; its agent was changed by
 * somebody with fewer rights; or the owner of the account's address has just taken over the account and may not know of
 * it.
 */
export type PausedReason = 'failures' | 'agent_changed' | 'account_recovered'

/** Whether only somebody with all the rights of its account may resume it. */
export const wantsVouching = ({ paused_reason }: { paused_reason: PausedReason | null }): boolean =>
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

/**
 * The reason why an automation does not fire and its waiting runs are not begun: it is archived, or its workspace is;
 * or it is paused.
 */
export const inactiveReason = ({
  status,
  workspace_status,
  paused_reason,
}: Pick<AutomationRow, 'status' | 'workspace_status' | 'paused_reason'>): 'archived' | 'paused' | null =>
  status !== 'active' || workspace_status !== 'active' ? 'archived' : paused_reason === null ? null : 'paused'

/** A secret and token that were rotated away and count until they expire. */
interface SecretTable {
  id: Id
  automation_id: Id
  token_hash: Buffer
  sealed_secret: string
  expires_at: Date
}

const whole = (db: Db) =>
  // The automation's own kind is the one that stays.
  db
    .selectFrom('resources as r')
    .innerJoin('automations as a', 'a.id', 'r.id')
    .selectAll(['r', 'a'])
    .select(sql<string>`(select w.status from workspaces w where w.id = r.workspace_id)`.as('workspace_status'))
    .$castTo<AutomationRow>()

/** The sealed columns of automations, for `resealAll`. */
export const automationSecrets: readonly SealedColumns[] = [
  { table: 'automations', columns: ['sealed_secret'] },
  { table: 'automation_secrets', columns: ['sealed_secret'] },
]

/** Former secrets of a webhook that count at most. */
const MOST_SECRETS = 20

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

  /** Locks the automation until the transaction ends: nobody else fires or changes it. */
  lock: (db: Db, id: Id): Promise<AutomationRow | undefined> =>
    whole(db).where('r.id', '=', id).forUpdate('a').executeTakeFirst(),

  /** The automations that an account answers for. Nobody else adds to them until the transaction ends. */
  async countHeld(db: Db, accountId: Id): Promise<number> {
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
   * Automations that an agent works for: by itself, in a chat of its, or as one that others hand tasks to. Held, but for those that
   * are paused for that already.
   */
  async behindAgent(db: Db, agentId: Id): Promise<AutomationRow[]> {
    const { rows: over } = await sql<{ id: Id }>`with recursive over as (
        select ${agentId}::text collate "C" as id
        union
        select a.id::text collate "C" from over o join agents a on a.subagents @> jsonb_build_array(jsonb_build_object('agent_id', o.id))
      ) select id from over`.execute(db)
    const ids = over.map(({ id }) => id)
    // From automations to their chats, one by one: an agent may have millions of chats, which its automations made.
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

  /** Automations that this account answers for, made in this time, held, but for those that wait for somebody's word already. */
  heldBy: (db: Db, accountId: Id, { from, until }: Span): Promise<AutomationRow[]> =>
    whole(db)
      .where('a.account_id', '=', accountId)
      .where('r.created_at', '>=', from)
      .where('r.created_at', '<=', until)
      .where((of) => of.or([of('a.paused_reason', 'is', null), of('a.paused_reason', '=', 'failures')]))
      .orderBy('a.id')
      .forUpdate('a')
      .execute(),

  /** Automations that speak in this chat, held. */
  inChat: (db: Db, chatId: Id): Promise<AutomationRow[]> =>
    whole(db)
      .where(sql<boolean>`a.action ->> 'chat_id' = ${chatId}`)
      .where('a.paused_reason', 'is distinct from', 'agent_changed')
      .orderBy('a.id')
      .forUpdate('a')
      .execute(),

  /** Clears the failures of automations that ran well: earlier ones do not count any more. */
  forgive: async (db: Db, ids: readonly Id[]): Promise<void> =>
    void (await sql`update automations set failures = 0 where id = any(${ids}::ulid[]) and failures > 0`.execute(db)),

  /** Whether some automation has a tick to fire now: asked first, for mostly none has. */
  async isDue(db: Db): Promise<boolean> {
    const { rows } = await sql<{
      due: boolean
    }>`select exists (select from automations where next_fire_at <= now()) as due`.execute(db)
    return rows[0]!.due
  },

  /**
   * Automations with a tick to fire, held by the caller; those that somebody else holds are left to them. One that is on
   * time goes before one that has long to make up for.
   */
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

  /** The moves of many at once. */
  async advance(db: Db, moves: readonly { id: Id; next: Date | null; fired: Date | null }[]): Promise<void> {
    await sql`update automations a set next_fire_at = m.next, last_fired_at = coalesce(m.fired, a.last_fired_at)
      from unnest(${moves.map(({ id }) => id)}::ulid[], ${moves.map(({ next }) => next)}::timestamptz[],
        ${moves.map(({ fired }) => fired)}::timestamptz[]) m(id, next, fired) where a.id = m.id`.execute(db)
  },
}
