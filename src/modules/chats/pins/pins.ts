import { sql } from 'kysely'
import type { Db } from '#infra/postgres/client.ts'
import { type Id, newId } from '#core/ids.ts'

export const pins = {
  /** Does nothing if the chat is being deleted. */
  async add(db: Db, accountId: Id, chatId: Id): Promise<void> {
    await sql`insert into chat_pins (id, account_id, chat_id)
      select ${newId()}::ulid, ${accountId}::ulid, id from chats where id = ${chatId} for key share
      on conflict (account_id, chat_id) do nothing`.execute(db)
  },

  async remove(db: Db, accountId: Id, chatId: Id): Promise<void> {
    await sql`delete from chat_pins where account_id = ${accountId} and chat_id = ${chatId}`.execute(db)
  },
}
