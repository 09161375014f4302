import { queryOptions } from '@tanstack/react-query'
import { everyRow, queryClient, uk } from '../api.ts'

export type Member = Awaited<ReturnType<typeof uk.members.list>>['rows'][number]

export const membersQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: ['team', workspaceId],
    queryFn: () => everyRow(uk.members.list({ id: workspaceId, limit: 100 })),
  })

/** Who is invited and has not come yet. */
export const invitedQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: ['invited', workspaceId],
    queryFn: () => everyRow(uk.invitations.list({ id: workspaceId, status: 'pending', limit: 100 })),
  })

/** After a change of who is in a workspace, or of what they may. */
export const refreshTeam = (workspaceId: string): Promise<unknown> =>
  Promise.all([
    queryClient.invalidateQueries({ queryKey: ['team', workspaceId] }),
    queryClient.invalidateQueries({ queryKey: ['members', workspaceId] }),
    queryClient.invalidateQueries({ queryKey: ['workspaces'] }),
  ])
