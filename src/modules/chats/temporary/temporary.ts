/** Temporary chats are visible only to their creator and are deleted a day after their last message. */
import { sql } from 'kysely'
import type { Db } from '#infra/postgres/client.ts'
import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import type { Principal } from '#core/principal.ts'
import type { ChatRow } from '../store.ts'

export const TEMPORARY_HOURS = 24

export const isHidden = (
  { accountId }: Pick<Principal, 'accountId'>,
  { temporary, created_by }: Pick<ChatRow, 'temporary' | 'created_by'>,
): boolean => temporary && created_by !== accountId

/** Throws `invalid_state` for actions that temporary chats don't support: sharing, pinning and automations. */
export function checkKept({ temporary }: Pick<ChatRow, 'temporary'>, what: string): void {
  if (temporary)
    refuse('invalid_state', {
      message: `This chat is temporary, so it can’t be ${what}. Keep it first: send \`PATCH /chats/:id\` with \`temporary: false\`.`,
      details: { temporary: true, allowed: ['keep'] },
    })
}

export const expiresAt = ({
  temporary,
  last_message_at,
  created_at,
}: Pick<ChatRow, 'temporary' | 'last_message_at' | 'created_at'>): Date | null =>
  temporary ? new Date((last_message_at ?? created_at).getTime() + TEMPORARY_HOURS * 3_600_000) : null

/** Makes the chat and its delegated chats permanent. Returns the IDs of the delegated ones. */
export async function keepChat(db: Db, id: Id): Promise<Id[]> {
  const keptIds: Id[] = []
  // Repeats until none is left: a concurrent delegation holds the parent chat's lock and becomes visible after its
  // commit.
  for (;;) {
    const { rows } = await sql<{ id: Id }>`with recursive below as (
        select id from chats where id = ${id}
        union all select c.id from below b join chats c on c.parent_chat_id = b.id
      ) update chats set temporary = false where temporary and id in (select id from below) returning id`.execute(db)
    if (rows.length === 0) return keptIds
    keptIds.push(...rows.flatMap((row) => (row.id === id ? [] : row.id)))
  }
}

/** Also prevents a change until the transaction ends. */
export async function isTemporary(db: Db, id: Id): Promise<boolean> {
  const { rows } = await sql<{ temporary: boolean }>`select temporary from chats where id = ${id} for share`.execute(db)
  return rows[0]?.temporary ?? false
}

export const isOfTemporary = sql<boolean>`exists (select from chats c where c.temporary and c.id = (
  case when outbox.resource_type = 'chat' then outbox.resource_id else outbox.data ->> 'chat_id' end)::ulid)`

/** Removes workspace channels from unsent events, which can't be recognized as temporary once the chats are deleted. */
export async function keepFromWorkspaces(db: Db, ids: readonly Id[]): Promise<void> {
  // Locked rows are being sent by a relay that already checked the chats.
  await sql`update outbox set channels = array(select c from unnest(channels) c where c not like 'workspace:%')
    where seq in (select seq from outbox where (resource_type = 'chat' and resource_id = any(${ids}::text[]))
      or data ->> 'chat_id' = any(${ids}::text[]) for update skip locked)`.execute(db)
}
