import { queryClient, uk } from '../../shared/api.ts'
import { sessionQuery } from '../../shared/session.ts'
import { lastChatsQuery } from '../queries.ts'
import { dismissed } from './dismissed.ts'

/**
 * Whether to show the setup guide: the account is empty, and the guide wasn't dismissed. False if that can't be loaded.
 */
export async function isNew(): Promise<boolean> {
  const session = await queryClient.ensureQueryData(sessionQuery)
  if (session === null || dismissed(session.account.id).get() !== null) return false
  if (queryClient.getQueryData(lastChatsQuery.queryKey)?.length) return false
  // Bypasses the cache: the first chat may have been created since the last visit.
  const chats = await queryClient.fetchQuery({ ...lastChatsQuery, staleTime: 0 }).catch(() => null)
  return chats?.length === 0 && (await hasNoOther())
}

/** Archived and temporary chats count too. */
async function hasNoOther(): Promise<boolean> {
  const others = [{ status: 'archived' }, { temporary: true }, { status: 'trashed' }] as const
  const pages = await Promise.all(others.map((which) => uk.chats.list({ ...which, limit: 1 }))).catch(() => null)
  return pages !== null && pages.every(({ rows }) => rows.length === 0)
}
