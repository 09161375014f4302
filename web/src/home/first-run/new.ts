import { queryClient, uk } from '../../api.ts'
import { sessionQuery } from '../../session.ts'
import { lastChatsQuery } from '../queries.ts'
import { dismissed } from './dismissed.ts'

/** Whether somebody has nothing yet, and has not put the first steps away. What cannot be read leads nobody on. */
export async function isNew(): Promise<boolean> {
  const session = await queryClient.ensureQueryData(sessionQuery)
  if (session === null || dismissed(session.account.id).get() !== null) return false
  if (queryClient.getQueryData(lastChatsQuery.queryKey)?.length) return false
  // Not by what was kept of an earlier visit: the first chat may have been made since.
  const chats = await queryClient.fetchQuery({ ...lastChatsQuery, staleTime: 0 }).catch(() => null)
  return chats?.length === 0 && (await hasNoOther())
}

/** Whether there are no other chats: whoever has archived or temporary ones is not a newcomer. */
async function hasNoOther(): Promise<boolean> {
  const others = [{ status: 'archived' }, { temporary: true }, { status: 'trashed' }] as const
  const found = await Promise.all(others.map((which) => uk.chats.list({ ...which, limit: 1 }))).catch(() => null)
  return found !== null && found.every(({ rows }) => rows.length === 0)
}
