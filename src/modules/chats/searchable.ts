import { sql } from 'kysely'
import { MAX_BODY, type Searchable } from '#infra/text/index/searchable.ts'
import type { Id } from '#core/ids.ts'

/** Indexes chats by title and messages by text. Skips temporary chats, tool output and unfinished answers. */
export const chatSearchable: Searchable = {
  kinds: ['chat', 'message'],

  async findChanged({ postgres: { db } }, events) {
    const ids = new Set<Id>()
    const copied: Id[] = []
    for (const { type, resource_id, data } of events) {
      if (resource_id === null) continue
      ids.add(resource_id)
      // The first message can set the chat's title, and a copied chat comes with its messages.
      if (type === 'message.created' && typeof data.chat_id === 'string') ids.add(data.chat_id)
      if (type === 'chat.created') copied.push(resource_id)
    }
    if (copied.length > 0)
      for (const { id } of await db.selectFrom('messages').select('id').where('chat_id', 'in', copied).execute())
        ids.add(id)
    return [...ids]
  },

  async read({ postgres: { db } }, ids) {
    const chats = await db
      .selectFrom('resources as r')
      .innerJoin('chats as c', 'c.id', 'r.id')
      .select(['r.id', 'r.created_at', 'r.updated_at', 'c.title'])
      .where('r.id', 'in', ids)
      .where('c.temporary', '=', false)
      .execute()
    const messages = await db
      .selectFrom('messages as m')
      .innerJoin('chats as c', 'c.id', 'm.chat_id')
      .select([
        'm.id',
        'm.chat_id',
        'm.created_at',
        'm.updated_at',
        'c.title',
        sql<string>`left(m.text, ${MAX_BODY})`.as('text'),
      ])
      .where('m.id', 'in', ids)
      .where('c.temporary', '=', false)
      .where('m.role', 'in', ['user', 'assistant'])
      .where('m.status', 'in', ['completed', 'incomplete'])
      .where('m.text', '<>', '')
      .execute()
    return [
      ...chats.map(({ id, title, created_at, updated_at }) => ({
        type: 'chat' as const,
        id,
        resource_id: id,
        parent_id: null,
        title,
        keywords: '',
        body: '',
        created_at,
        updated_at,
      })),
      ...messages.map(({ id, chat_id, title, text, created_at, updated_at }) => ({
        type: 'message' as const,
        id,
        resource_id: chat_id,
        parent_id: chat_id,
        title,
        keywords: '',
        body: text,
        created_at,
        updated_at,
      })),
    ]
  },

  async all({ postgres: { db } }, after, limit) {
    const { rows } = await sql<{ id: Id }>`select id from (select id from chats union all select id from messages) x
      where ${after}::ulid is null or id > ${after}::ulid order by id limit ${limit}`.execute(db)
    return rows.map(({ id }) => id)
  },
}
