import { sql } from 'kysely'
import { type AttributedEvent, outboxRows } from '#infra/outbox/outbox.ts'
import { type Db, type Postgres, nextTime } from '#infra/postgres/client.ts'
import type { Id } from '#core/ids.ts'
import { type MessageRow, insertable } from '../messages/message-store.ts'
import type { Logged } from './event-store.ts'
import { type NewRun, type RunRow, decimal } from './run-store.ts'

export interface AcceptedMessage {
  chatId: Id
  /** The message and its pending answer, which becomes the chat's head. */
  messages: readonly [MessageRow, MessageRow]
  at: Date
  /** Null keeps the current title. */
  title: string | null
  runId: Id
  events: readonly Logged[]
}

/** Uses one statement because each round trip delays the first token. */
export async function insertAccepted(
  db: Db,
  { chatId, messages, at, title, runId, events }: AcceptedMessage,
): Promise<void> {
  const { id: head, seq } = messages[1]
  await db
    .with('said', (query) => query.insertInto('messages').values(insertable(messages)))
    .with('register', (query) => query.updateTable('resources').set({ updated_at: nextTime }).where('id', '=', chatId))
    .with(
      'told',
      () => sql`(insert into run_events (run_id, seq, type, at, data) select ${runId}, x.seq, x.type, x.at, x.data::json
        from unnest(${events.map((event) => event.seq)}::int[], ${events.map(({ type }) => type)}::text[],
          ${events.map((event) => event.at)}::timestamptz[], ${events.map(({ data }) => JSON.stringify(data))}::text[])
          x(seq, type, at, data))`,
    )
    .updateTable('chats')
    .set({
      head_message_id: head,
      last_seq: seq,
      last_message_at: at,
      title: sql<string>`coalesce(${title}::text, title)`,
      title_source: sql<'auto'>`case when ${title}::text is null then title_source else 'auto' end`,
    })
    .where('id', '=', chatId)
    .execute()
}

export interface IdleMessage {
  /** `updated_at` of the chat when it was read. */
  seen: Date
  input: MessageRow
  output: MessageRow
  run: NewRun & Pick<RunRow, 'named_model'>
  title: string | null
  events: readonly Logged[]
  told: readonly AttributedEvent[]
}

/**
 * Inserts messages, runs and events into chats that haven't changed and aren't locked. Returns each new run's place.
 * Looks up register and parent per row: a join planned while the tables were small would scan them for each batch.
 * Everything that makes a chat busy also updates its register row, so a chat idle in the snapshot is idle.
 */
export async function insertIntoIdle({ pool }: Postgres, messages: readonly IdleMessage[]): Promise<Map<Id, bigint>> {
  const messageRows = messages.map(({ seen, input, output, run, title }) => ({
    ...run,
    budget_nano: decimal(run.budget_nano),
    seen,
    parent_id: input.parent_id,
    seq: input.seq,
    content: input.content,
    text: input.text,
    created_by: input.created_by,
    title,
    run_id: run.id,
    output_id: output.id,
  }))
  const events = messages.flatMap(({ run, events }) => events.map((event) => ({ run_id: run.id, ...event })))
  const outboxMessages = messages.flatMap(({ run, told }) =>
    outboxRows(told).map((row, n) => ({ ...row, n, run_id: run.id })),
  )
  const { rows } = await pool.query<{ id: Id; place: bigint }>({
    name: 'chats_insert_into_idle',
    text: INTO_IDLE,
    values: [JSON.stringify(messageRows), JSON.stringify(events), JSON.stringify(outboxMessages)],
  })
  return new Map(rows.map(({ id, place }) => [id, place]))
}

const INTO_IDLE = `with given as materialized (
    select * from json_to_recordset($1::json) as x(run_id ulid, chat_id ulid, seen timestamptz, parent_id ulid, seq int,
      content jsonb, text text, created_by ulid, title text, output_id ulid, input_message_id ulid, workspace_id ulid,
      account_id ulid, key_id ulid, scopes text[], held_to ulid, agent_id ulid, budget_nano bigint, on_busy text, model text,
      named_model text, process_id ulid, fence int, created_at timestamptz)
  ), held as materialized (
    select g.* from given g cross join lateral (
      select from resources r where r.id = g.chat_id and r.kind = 'chat' and r.status = 'active' and r.updated_at = g.seen
          and not exists (select from runs u where u.chat_id = g.chat_id and u.status in ('queued', 'running', 'requires_action'))
        for update of r skip locked) r
  ), sent as materialized (
    select g.*, case when p.continued is not false then g.input_message_id else p.line_id end as line_id,
        coalesce(p.depth + 1, 0) as depth
      from held g left join lateral (
        select p.id, p.line_id, p.depth,
            exists (select from messages n where n.line_id = p.line_id and n.depth = p.depth + 1) as continued
          from messages p where p.id = g.parent_id and p.chat_id = g.chat_id offset 0) p on true
      where p.id is not null or g.parent_id is null
  ), said as (
    insert into messages (id, chat_id, parent_id, line_id, depth, seq, run_id, role, status, content, text, created_by,
        created_at, updated_at)
      select input_message_id, chat_id, parent_id, line_id, depth, seq, run_id, 'user', 'completed', content, text, created_by,
          created_at, created_at from sent
      union all
      select output_id, chat_id, input_message_id, line_id, depth + 1, seq + 1, run_id, 'assistant', 'in_progress', '[]', '', null,
          created_at, created_at from sent
  ), begun as (
    insert into runs (id, chat_id, workspace_id, account_id, key_id, scopes, held_to, agent_id, budget_nano, status, on_busy,
        model, named_model, input_message_id, output_message_id, process_id, fence, queued_at, started_at, created_at, updated_at)
      select run_id, chat_id, workspace_id, account_id, key_id, scopes, held_to, agent_id, budget_nano, 'running', on_busy,
          model, named_model, input_message_id, output_id, process_id, fence, created_at, created_at, created_at, created_at
        from sent
      returning id, place
  ), logged as (
    insert into run_events (run_id, seq, type, at, data)
      select e.run_id, e.seq, e.type, e.at, e.data
        from json_to_recordset($2::json) as e(run_id ulid, seq int, type text, at timestamptz, data json)
        join sent s on s.run_id = e.run_id
  ), told as (
    insert into outbox (id, type, channels, resource_type, resource_id, actor, data)
      select o.id, o.type, o.channels, o.resource_type, o.resource_id, o.actor, o.data
        from json_to_recordset($3::json) as o(run_id ulid, n int, id ulid, type text, channels text[], resource_type text,
          resource_id text, actor jsonb, data jsonb)
        join sent s on s.run_id = o.run_id order by s.run_id, o.n
  ), register as (
    update resources r set updated_at = greatest(date_trunc('milliseconds', clock_timestamp()), r.updated_at + interval '1 millisecond')
      from sent s where r.id = s.chat_id
  ), grown as (
    update chats c set head_message_id = s.output_id, last_seq = s.seq + 1, last_message_at = s.created_at,
        title = coalesce(s.title, c.title), title_source = case when s.title is null then c.title_source else 'auto' end
      from sent s where c.id = s.chat_id
  ) select id, place from begun`
