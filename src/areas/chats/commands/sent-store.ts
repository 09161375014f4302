import { sql } from 'kysely'
import { type Db, nextTime } from '#engine/postgres/client.ts'
import type { Id } from '#kernel/ids.ts'
import { type MessageRow, insertable } from '../messages/message-store.ts'
import type { Logged } from '../runs/event-store.ts'

/** What a message that was taken in leaves behind beside its run. */
export interface Left {
  chatId: Id
  /** The message and the answer to come, which is the chat's head from now on. */
  messages: readonly [MessageRow, MessageRow]
  at: Date
  /** Null: it keeps the one it has. */
  title: string | null
  runId: Id
  /** What the run's readers are told first. */
  events: readonly Logged[]
}

/** All of it in one statement: the first word of an answer waits for every round trip. */
export async function insertSent(db: Db, { chatId, messages, at, title, runId, events }: Left): Promise<void> {
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
