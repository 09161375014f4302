import { queryOptions, useQuery } from '@tanstack/react-query'
import { type Account, type Workspace, everyRow, isSignedOut, queryClient, uk } from './api.ts'

/** The person who is signed in, or null. */
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

/** Only below the shell, which is shown to nobody else. */
export function useAccount(): Account {
  return useQuery(sessionQuery).data!.account
}

export const workspacesQuery = queryOptions({
  queryKey: ['workspaces'],
  queryFn: () => everyRow(uk.workspaces.list({ limit: 100 })),
})

/** Manages its keys, caps and people: an admin whose role nothing narrows. */
export const isManaged = ({ role, permissions }: Workspace): boolean =>
  (role === 'admin' || role === 'owner') && permissions === null

/** The members of a workspace, by id. */
export const namesQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: ['members', workspaceId],
    queryFn: async () =>
      new Map(
        (await everyRow(uk.members.list({ id: workspaceId, limit: 100 }))).map(({ user_id, name }) => [user_id, name]),
      ),
    staleTime: 60_000,
  })

/** After a sign-in or a sign-out nothing that was read before holds. */
export async function forgetEverything(): Promise<void> {
  queryClient.clear()
  await queryClient.fetchQuery(sessionQuery)
}
