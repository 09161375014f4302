import { type ColumnType, type Generated, type Selectable, sql } from 'kysely'
import type { Postgres } from '#infra/postgres/client.ts'
import { type Db, nextTime, nextTimeOf } from '#infra/postgres/client.ts'
import type { Id } from '#core/ids.ts'
import type { Nano } from '#core/money.ts'
import type { Usage } from '#core/usage.ts'
import type { Part } from './parts.ts'

declare module '#infra/postgres/tables.ts' {
  interface Database {
    messages: MessageTable
  }
}

type Json<T> = ColumnType<T, string | null, string | null>
interface MessageTable {
  id: Id
  chat_id: Id
  parent_id: Id | null
  /** A line is named by its first message. `depth` counts from the root. */
  line_id: Id
  depth: number
  seq: number
  run_id: Id | null
  role: 'system' | 'user' | 'assistant' | 'tool'
  status: 'queued' | 'in_progress' | 'completed' | 'incomplete' | 'failed'
  content: ColumnType<Part[], string, string>
  text: string
  model: string | null
  provider: string | null
  finish_reason: string | null
  usage: Json<Usage | null>
  cost_nano: Nano | null
  created_by: Id | null
  created_at: Generated<Date>
  updated_at: Generated<Date>
}
export type MessageRow = Selectable<MessageTable>

/** A parent message: its position, and whether it already has a reply on its line. */
export interface Parent {
  line_id: Id
  depth: number
  continued: boolean
}

/** Lines of the branch that ends with message $1, each with its last depth on that branch. */
const LINES = `with recursive lines(line_id, upto) as (
    select line_id, depth from messages where id = $1
    union all
    select p.line_id, p.depth from lines l join messages f on f.id = l.line_id join messages p on p.id = f.parent_id
  )`

const [BEFORE_HEAD = '', BEHIND_HEAD = ''] = LINES.split('$1')

/** $2: depth to continue from, $3: limit. Each line returns up to a page, in index order. */
const pageOfPath = (order: 'asc' | 'desc'): string => `${LINES}
  select m.* from lines l cross join lateral (
    select * from messages where line_id = l.line_id and depth <= l.upto and depth ${order === 'asc' ? '>' : '<'} $2
    order by depth ${order} limit $3) m
  order by m.depth ${order} limit $3`

/** For a page entirely on the line of $1, as the newest one usually is. Halves the planning time. */
const PAGE_OF_LINE = `select m.* from messages h cross join lateral (
    select * from messages where line_id = h.line_id and depth <= h.depth and depth < $2 order by depth desc limit $3) m
  where h.id = $1 order by m.depth desc`

const PAGES = { asc: pageOfPath('asc'), desc: pageOfPath('desc') }

export const messageStore = {
  async path(
    { pool }: Postgres,
    { head, order, after, limit }: { head: Id; order: 'asc' | 'desc'; after: number | null; limit: number },
  ): Promise<MessageRow[]> {
    const edge = after ?? (order === 'asc' ? -1 : 2 ** 31 - 1)
    if (order === 'desc') {
      const { rows } = await pool.query<MessageRow>({
        name: 'messages_line',
        text: PAGE_OF_LINE,
        values: [head, edge, limit],
      })
      if (rows.length === limit || rows.at(-1)?.depth === 0) return rows
    }
    const { rows } = await pool.query<MessageRow>({
      name: `messages_path_${order}`,
      text: PAGES[order],
      values: [head, edge, limit],
    })
    return rows
  },

  async said({ pool }: Postgres, head: Id): Promise<Pick<MessageRow, 'id' | 'role' | 'content'>[]> {
    const { rows } = await pool.query<Pick<MessageRow, 'id' | 'role' | 'content'>>({
      name: 'messages_said',
      text: `${LINES} select m.id, m.role, m.content from lines l
        join messages m on m.line_id = l.line_id and m.depth <= l.upto where m.content <> '[]' order by m.depth`,
      values: [head],
    })
    return rows
  },

  all: (
    db: Db,
    chatId: Id,
    { order, after, limit }: { order: 'asc' | 'desc'; after: number | null; limit: number },
  ): Promise<MessageRow[]> =>
    db
      .selectFrom('messages')
      .selectAll()
      .where('chat_id', '=', chatId)
      .$if(after !== null, (query) => query.where('seq', order === 'asc' ? '>' : '<', after!))
      .orderBy('seq', order)
      .limit(limit)
      .execute(),

  async ids(db: Db, chatId: Id): Promise<Id[]> {
    const { rows } = await sql<{ id: Id }>`select id from messages where chat_id = ${chatId} order by seq`.execute(db)
    return rows.map(({ id }) => id)
  },

  async pathIds(db: Db, head: Id): Promise<Id[]> {
    const { rows } = await sql<{
      id: Id
    }>`${sql.raw(BEFORE_HEAD)}${head}${sql.raw(BEHIND_HEAD)} select m.id from lines l
      join messages m on m.line_id = l.line_id and m.depth <= l.upto order by m.depth`.execute(db)
    return rows.map(({ id }) => id)
  },

  /**
   * Copies messages to another chat under new IDs. `branches` keeps their lines; otherwise they form one line.
   * Unfinished answers keep their current state.
   */
  async copy(db: Db, chatId: Id, old: readonly Id[], fresh: readonly Id[], branches: boolean): Promise<void> {
    await sql`with map(old, fresh, place) as (
        select * from unnest(${old}::ulid[], ${fresh}::ulid[]) with ordinality)
      insert into messages (id, chat_id, parent_id, line_id, depth, seq, role, status, content, text, model, finish_reason,
          created_by)
        select m.fresh, ${chatId}, p.fresh, ${branches ? sql`l.fresh` : sql`${fresh[0]!}`}, o.depth, m.place, o.role,
          case when o.status in ('queued', 'in_progress') then 'incomplete' else o.status end, o.content, o.text, o.model,
          o.finish_reason, o.created_by
        from map m join messages o on o.id = m.old left join map p on p.old = o.parent_id
          left join map l on l.old = o.line_id`.execute(db)
  },

  async withFiles(db: Db, chatId: Id): Promise<Pick<MessageRow, 'id' | 'content'>[]> {
    const { rows } = await sql<Pick<MessageRow, 'id' | 'content'>>`select id, content from messages
      where chat_id = ${chatId} and content @> '[{"source": {"kind": "file"}}]'`.execute(db)
    return rows
  },

  get: (db: Db, chatId: Id, id: Id): Promise<MessageRow | undefined> =>
    db.selectFrom('messages').selectAll().where('id', '=', id).where('chat_id', '=', chatId).executeTakeFirst(),

  async parent(db: Db, chatId: Id, id: Id): Promise<Parent | null> {
    const { rows } = await sql<Parent>`select p.line_id, p.depth,
        exists (select from messages n where n.line_id = p.line_id and n.depth = p.depth + 1) as continued
      from messages p where p.id = ${id} and p.chat_id = ${chatId}`.execute(db)
    return rows[0] ?? null
  },

  async insert(db: Db, rows: readonly MessageRow[]): Promise<void> {
    await db.insertInto('messages').values(insertable(rows)).execute()
  },

  /** Same SQL text for any number of rows. */
  async insertMany(db: Db, rows: readonly MessageRow[]): Promise<void> {
    await sql`insert into messages (id, chat_id, parent_id, line_id, depth, seq, run_id, role, status, content, text, model,
        created_by, created_at, updated_at)
      select id, chat_id, parent_id, line_id, depth, seq, run_id, role, status, content, text, model, created_by, created_at, updated_at
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as x(id ulid, chat_id ulid, parent_id ulid, line_id ulid, depth int,
        seq int, run_id ulid, role text, status text, content jsonb, text text, model text, created_by ulid, created_at timestamptz,
        updated_at timestamptz)`.execute(db)
  },

  async setStatus(db: Db, id: Id, status: MessageRow['status']): Promise<MessageRow> {
    return db
      .updateTable('messages')
      .set({ status, updated_at: nextTime })
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirstOrThrow()
  },

  /** Saves the part of an unfinished answer that must survive a crash. */
  keep: (
    db: Db,
    id: Id,
    {
      content,
      ...so
    }: Pick<MessageRow, 'content'> & {
      served?: { model: string; provider: string; usage: Usage | null; cost: Nano | null }
    },
  ): Promise<MessageRow> =>
    db
      .updateTable('messages')
      .set({
        content: JSON.stringify(content),
        ...(so.served && {
          model: so.served.model,
          provider: so.served.provider,
          usage: so.served.usage && JSON.stringify(so.served.usage),
          ...(so.served.cost !== null && { cost_nano: sql<Nano>`coalesce(cost_nano, 0) + ${so.served.cost}` }),
        }),
        updated_at: nextTime,
      })
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirstOrThrow(),

  async finish(
    db: Db,
    ends: readonly Pick<
      MessageRow,
      'id' | 'status' | 'content' | 'text' | 'model' | 'provider' | 'finish_reason' | 'usage' | 'cost_nano'
    >[],
  ): Promise<Map<Id, MessageRow>> {
    const endRows = ends.map((end) => ({ ...end, cost_nano: end.cost_nano === null ? null : String(end.cost_nano) }))
    // Adds to the cost of an attempt whose process died. Keeps model and provider if no further call was made.
    const { rows } = await sql<MessageRow>`update messages m set status = e.status, content = e.content, text = e.text,
        finish_reason = e.finish_reason, usage = coalesce(e.usage, m.usage), provider = coalesce(e.provider, m.provider),
        model = case when e.provider is null then coalesce(m.model, e.model) else e.model end,
        cost_nano = case when e.cost_nano is null then m.cost_nano else coalesce(m.cost_nano, 0) + e.cost_nano end,
        updated_at = ${nextTimeOf('m')}
      from jsonb_to_recordset(${JSON.stringify(endRows)}::jsonb) as e(id ulid, status text, content jsonb, text text, model text,
        provider text, finish_reason text, usage jsonb, cost_nano bigint)
      where m.id = e.id and m.id = any(${ends.map(({ id }) => id)}::ulid[]) returning m.*`.execute(db)
    return new Map(rows.map((row) => [row.id, row]))
  },

  /** Adds the cost of an attempt whose process died. Undefined if the message was deleted. */
  addCost: (
    db: Db,
    id: Id,
    { model, provider, cost }: { model: string; provider: string; cost: Nano },
  ): Promise<MessageRow | undefined> =>
    db
      .updateTable('messages')
      .set({
        model: sql<string>`coalesce(model, ${model})`,
        provider: sql<string>`coalesce(provider, ${provider})`,
        cost_nano: sql<Nano>`coalesce(cost_nano, 0) + ${cost}`,
        updated_at: nextTime,
      })
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirst(),
}

export const insertable = (rows: readonly MessageRow[]) =>
  rows.map((row) => ({ ...row, content: JSON.stringify(row.content), usage: row.usage && JSON.stringify(row.usage) }))
