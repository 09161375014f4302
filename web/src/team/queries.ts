import { queryOptions } from '@tanstack/react-query'
import { everyRow, queryClient, uk } from '../shared/api.ts'

export type Member = Awaited<ReturnType<typeof uk.members.list>>['rows'][number]

export const membersQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: ['team', workspaceId],
    queryFn: () => everyRow(uk.members.list({ id: workspaceId, limit: 100 })),
  })

export const invitedQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: ['invited', workspaceId],
    queryFn: () => everyRow(uk.invitations.list({ id: workspaceId, status: 'pending', limit: 100 })),
  })

export const refreshTeam = (workspaceId: string): Promise<unknown> =>
  Promise.all([
    queryClient.invalidateQueries({ queryKey: ['team', workspaceId] }),
    queryClient.invalidateQueries({ queryKey: ['members', workspaceId] }),
    queryClient.invalidateQueries({ queryKey: ['workspaces'] }),
  ])
