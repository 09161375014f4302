/** Chats that only who made them sees, and that are deleted for good a day after their last message. */
import { sql } from 'kysely'
import type { Db } from '#infra/postgres/client.ts'
import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import type { Principal } from '#core/principal.ts'
import type { ChatRow } from '../store.ts'

export const TEMPORARY_HOURS = 24

/** Whether this is somebody else's alone: to the caller it is not there. */
export const isHidden = (
  { accountId }: Pick<Principal, 'accountId'>,
  { temporary, created_by }: Pick<ChatRow, 'temporary' | 'created_by'>,
): boolean => temporary && created_by !== accountId

/** Refuses what a temporary chat is not for: to be shared, pinned, or spoken in by an automation. */
export function checkKept({ temporary }: Pick<ChatRow, 'temporary'>, what: string): void {
  if (temporary)
    refuse('invalid_state', {
      message: `This chat is temporary, so it can’t be ${what}. Keep it first: send \`PATCH /chats/:id\` with \`temporary: false\`.`,
      details: { temporary: true, allowed: ['keep'] },
    })
}

/** The time when a temporary chat is deleted, unless it is kept or a message comes. */
export const expiresAt = ({
  temporary,
  last_message_at,
  created_at,
}: Pick<ChatRow, 'temporary' | 'last_message_at' | 'created_at'>): Date | null =>
  temporary ? new Date((last_message_at ?? created_at).getTime() + TEMPORARY_HOURS * 3_600_000) : null

/** Makes it a chat like any other, with those of the tasks that its agents handed on; answers the ids of those. */
export async function keepChat(db: Db, id: Id): Promise<Id[]> {
  const kept: Id[] = []
  // Again until there are none: a task that was being handed on holds the chat above, and is seen once it lets go of it.
  for (;;) {
    const { rows } = await sql<{ id: Id }>`with recursive below as (
        select id from chats where id = ${id}
        union all select c.id from below b join chats c on c.parent_chat_id = b.id
      ) update chats set temporary = false where temporary and id in (select id from below) returning id`.execute(db)
    if (rows.length === 0) return kept
    kept.push(...rows.flatMap((row) => (row.id === id ? [] : row.id)))
  }
}

/** Whether it is temporary, which it remains until the transaction ends. */
export async function isTemporary(db: Db, id: Id): Promise<boolean> {
  const { rows } = await sql<{ temporary: boolean }>`select temporary from chats where id = ${id} for share`.execute(db)
  return rows[0]?.temporary ?? false
}

/** Whether a row of `outbox` tells of a chat that is somebody's alone. */
export const isOfTemporary = sql<boolean>`exists (select from chats c where c.temporary and c.id = (
  case when outbox.resource_type = 'chat' then outbox.resource_id else outbox.data ->> 'chat_id' end)::ulid)`

/** The events of these that nobody has carried yet: once the chats are gone, nothing tells any more that they were temporary. */
export async function keepFromWorkspaces(db: Db, ids: readonly Id[]): Promise<void> {
  // What is locked is being carried, by whoever read it beside the chat.
  await sql`update outbox set channels = array(select c from unnest(channels) c where c not like 'workspace:%')
    where seq in (select seq from outbox where (resource_type = 'chat' and resource_id = any(${ids}::text[]))
      or data ->> 'chat_id' = any(${ids}::text[]) for update skip locked)`.execute(db)
}
