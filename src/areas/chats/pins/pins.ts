import { sql } from 'kysely'
import type { Db } from '#engine/postgres/client.ts'
import { type Id, newId } from '#kernel/ids.ts'
import { type ChatRow, chatColumns } from '../store.ts'

export const pins = {
  /** The chats of an account's pins before one of them, the latest pin first. */
  async list(
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

  async add(db: Db, accountId: Id, chatId: Id): Promise<void> {
    await sql`insert into chat_pins (id, account_id, chat_id) values (${newId()}, ${accountId}, ${chatId})
      on conflict (account_id, chat_id) do nothing`.execute(db)
  },

  async remove(db: Db, accountId: Id, chatId: Id): Promise<void> {
    await sql`delete from chat_pins where account_id = ${accountId} and chat_id = ${chatId}`.execute(db)
  },
}
