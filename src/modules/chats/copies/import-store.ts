import { sql } from 'kysely'
import type { Db } from '#infra/postgres/client.ts'
import type { Id } from '#core/ids.ts'

declare module '#infra/postgres/tables.ts' {
  interface Database {
    imported_chats: ImportedChatTable
  }
}

interface ImportedChatTable {
  workspace_id: Id
  source: string
  external_id: string
  chat_id: Id
}

export type Origin = Omit<ImportedChatTable, 'chat_id'>

export const importStore = {
  async find(db: Db, { workspace_id, source, external_id }: Origin): Promise<Id | null> {
    const row = await db
      .selectFrom('imported_chats as i')
      .innerJoin('resources as r', 'r.id', 'i.chat_id')
      .select('i.chat_id')
      .where('i.workspace_id', '=', workspace_id)
      .where('i.source', '=', source)
      .where('i.external_id', '=', external_id)
      .whereRef('r.workspace_id', '=', 'i.workspace_id')
      .executeTakeFirst()
    return row?.chat_id ?? null
  },

  /** Throws `23505` if a concurrent import saved the same origin. */
  async keep(db: Db, origin: Origin, chatId: Id): Promise<void> {
    // A chat moved to another workspace doesn't block a new import.
    await sql`delete from imported_chats i using resources r
      where r.id = i.chat_id and r.workspace_id <> i.workspace_id and i.workspace_id = ${origin.workspace_id}
        and i.source = ${origin.source} and i.external_id = ${origin.external_id}`.execute(db)
    await db
      .insertInto('imported_chats')
      .values({ ...origin, chat_id: chatId })
      .execute()
  },
}
