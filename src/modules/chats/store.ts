import { type ColumnType, type Generated, type Selectable, type Updateable, sql } from 'kysely'
import { type Db, type Postgres, nextTime } from '#infra/postgres/client.ts'
import { type ResourcePage, type ResourceRow, type Status, resourcePageText } from '#authz/resources.ts'
import type { Id } from '#core/ids.ts'
import type { Nano } from '#core/money.ts'

declare module '#infra/postgres/tables.ts' {
  interface Database {
    chats: ChatTable
  }
}

interface ChatTable {
  id: Id
  title: string
  title_source: Generated<'default' | 'auto' | 'user'>
  agent_id: Id | null
  model: string | null
  max_cost_nano: Generated<Nano | null>
  parent_chat_id: Generated<Id | null>
  /** Visible only to its creator. Deleted a day after its last message. */
  temporary: Generated<boolean>
  head_message_id: ColumnType<Id | null, never, Id | null>
  forked_from_chat_id: Id | null
  forked_from_message_id: Id | null
  last_seq: Generated<number>
  last_message_at: ColumnType<Date | null, never, Date>
}
export type ChatRow = Selectable<ChatTable> & ResourceRow & { active_run_id: Id | null; spent_nano: Nano | null }

/** The run that executes next among the unfinished ones, and the total spend. */
const runColumns = `(select u.id from runs u where u.chat_id = c.id and u.status in ('queued', 'running', 'requires_action')
  order by u.status = 'queued', u.place limit 1) as active_run_id,
  (select s.nano from spends s where s.subject = c.id and s.period = 'total') as spent_nano`

const chatColumns = `r.*, c.*, ${runColumns}`
const FIND = `select ${chatColumns} from resources r join chats c on c.id = r.id where r.id = any($1::ulid[])`

/** The columns needed under the chat lock, for changes to its messages or runs. */
export interface LockedChat {
  id: Id
  status: Status
  workspace_id: Id
  title_source: 'default' | 'auto' | 'user'
  head_message_id: Id | null
  agent_id: Id | null
  model: string | null
  last_seq: number
  updated_at: Date
  busy: boolean
}

export const chatStore = {
  /** Returns chats in the order of `ids`; null for missing ones. */
  async find({ pool }: Postgres, ids: readonly Id[]): Promise<(ChatRow | null)[]> {
    const { rows } = await pool.query<ChatRow>({ name: 'chats_find', text: FIND, values: [[...new Set(ids)]] })
    const byId = new Map(rows.map((row) => [row.id, row]))
    return ids.map((id) => byId.get(id) ?? null)
  },

  async get(db: Db, id: Id): Promise<ChatRow | null> {
    const { rows } = await sql<ChatRow>`select ${sql.raw(chatColumns)}
      from resources r join chats c on c.id = r.id where r.id = ${id}`.execute(db)
    return rows[0] ?? null
  },

  async list(
    { pool }: Postgres,
    page: Omit<ResourcePage, 'kind' | 'also'>,
    {
      agentId,
      parentId,
      temporary,
      accountId,
    }: { agentId: Id | undefined; parentId: Id | undefined; temporary: boolean; accountId: Id },
  ): Promise<ChatRow[]> {
    // Tasks of a temporary chat are also temporary, and are listed by their parent's ID.
    const ownToo = temporary || parentId !== undefined
    const filterIds = [parentId, agentId, ownToo ? accountId : undefined]
    const { shape, text, values } = resourcePageText(
      { ...page, kind: 'chat' },
      {
        text(first) {
          let next = first
          const parent = parentId === undefined ? 'c.parent_chat_id is null' : `c.parent_chat_id = $${next++}`
          const agent = agentId === undefined ? 'true' : `c.agent_id = $${next++}`
          const isOwn = `x.created_by = $${next}`
          const isVisible = temporary
            ? `c.temporary and ${isOwn}`
            : ownToo
              ? `(not c.temporary or ${isOwn})`
              : 'not c.temporary'
          return `exists (select from chats c where c.id = x.id and ${parent} and ${agent} and ${isVisible})`
        },
        values: filterIds.filter((id) => id !== undefined),
      },
    )
    const { rows } = await pool.query<ChatRow>({
      name: `chats_list_${shape}${agentId === undefined ? '' : '_of_agent'}${parentId === undefined ? '' : '_of_parent'}${temporary ? '_temporary' : ''}`,
      text: `select ${chatColumns} from ${text} r join chats c on c.id = r.id order by r.id desc`,
      values,
    })
    return rows
  },

  /** Returns an account's pinned chats older than the pin `before`, newest pin first. */
  async pinned(
    db: Db,
    accountId: Id,
    { workspaces, before, limit }: { workspaces: readonly Id[]; before: Id | null; limit: number },
  ): Promise<(ChatRow & { pin_id: Id })[]> {
    const { rows } = await sql<ChatRow & { pin_id: Id }>`select ${sql.raw(chatColumns)}, p.id as pin_id
      from chat_pins p join resources r on r.id = p.chat_id join chats c on c.id = p.chat_id
      where p.account_id = ${accountId} and (${before}::ulid is null or p.id < ${before}::ulid)
        and r.status <> 'trashed' and r.workspace_id = any(${[...workspaces]}::ulid[])
      order by p.id desc limit ${limit}`.execute(db)
    return rows
  },

  async insert(
    db: Db,
    chat: {
      id: Id
      title: string
      title_source: 'default' | 'user'
      agent_id: Id | null
      model: string | null
    } & Partial<
      Pick<ChatRow, 'forked_from_chat_id' | 'forked_from_message_id' | 'max_cost_nano' | 'parent_chat_id' | 'temporary'>
    >,
  ): Promise<void> {
    await db
      .insertInto('chats')
      .values({ forked_from_chat_id: null, forked_from_message_id: null, ...chat })
      .execute()
  },

  async update(db: Db, id: Id, changes: Updateable<ChatTable>): Promise<void> {
    if (Object.keys(changes).length > 0) await db.updateTable('chats').set(changes).where('id', '=', id).execute()
  },

  async isTemporary(db: Db, id: Id): Promise<boolean> {
    const { rows } = await sql`select from chats where id = ${id} and temporary`.execute(db)
    return rows.length > 0
  },

  /**
   * Locks the chat until the transaction ends: changes to its messages and runs take turns. Reads the row after the lock,
   * because earlier reads may be stale. Null if the chat was deleted.
   */
  async lock(db: Db, id: Id): Promise<LockedChat | null> {
    const { rows: lockedRows } =
      await sql`select 1 from resources where id = ${id} and kind = 'chat' for update`.execute(db)
    if (lockedRows.length === 0) return null
    const { rows } = await sql<LockedChat>`select r.id, r.status, r.workspace_id, r.updated_at, c.title_source,
        c.head_message_id, c.agent_id, c.model, c.last_seq, exists (select from runs u where u.chat_id = c.id
          and u.status in ('queued', 'running', 'requires_action')) as busy
      from resources r join chats c on c.id = r.id where r.id = ${id}`.execute(db)
    return rows[0] ?? null
  },

  async lockFree(db: Db, ids: readonly Id[]): Promise<Set<Id>> {
    const { rows } = await sql<{ id: Id }>`select id from resources where id = any(${ids}::ulid[]) and kind = 'chat'
      order by id for update skip locked`.execute(db)
    return new Set(rows.map(({ id }) => id))
  },

  async grow(db: Db, id: Id, to: { head: Id; lastSeq: number; at: Date; title: string | null }): Promise<void> {
    await sql`with r as (update resources set updated_at = ${nextTime} where id = ${id})
      update chats set head_message_id = ${to.head}, last_seq = ${to.lastSeq}, last_message_at = ${to.at},
        title = coalesce(${to.title}, title), title_source = case when ${to.title}::text is null then title_source else 'auto' end
      where id = ${id}`.execute(db)
  },
}
