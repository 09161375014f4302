import { queryOptions, useQuery } from '@tanstack/react-query'
import { type Account, type Workspace, everyRow, isSignedOut, queryClient, uk } from './api.ts'

export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: async () => {
    try {
      return await uk.auth.session()
    } catch (error) {
      if (isSignedOut(error)) return null
      throw error
    }
  },
  staleTime: 60_000,
})

/** For components under the shell, which only signed-in users see. */
export function useAccount(): Account {
  return useQuery(sessionQuery).data!.account
}

export const workspacesQuery = queryOptions({
  queryKey: ['workspaces'],
  queryFn: () => everyRow(uk.workspaces.list({ limit: 100 })),
})

/** Admins with full permissions manage keys, spend caps and members. */
export const isManaged = ({ role, permissions }: Workspace): boolean =>
  (role === 'admin' || role === 'owner') && permissions === null

export const namesQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: ['members', workspaceId],
    queryFn: async () =>
      new Map(
        (await everyRow(uk.members.list({ id: workspaceId, limit: 100 }))).map(({ user_id, name }) => [user_id, name]),
      ),
    staleTime: 60_000,
  })

/** After a sign-in or a sign-out, nothing in the cache is valid. */
export async function forgetEverything(): Promise<void> {
  queryClient.clear()
  await queryClient.fetchQuery(sessionQuery)
}

export const settingsQuery = queryOptions({
  queryKey: ['settings'],
  queryFn: () => uk.settings.get(),
  staleTime: 60_000,
})
