import { queryOptions } from '@tanstack/react-query'
import { everyRow, queryClient, uk } from '../api.ts'

export type Member = Awaited<ReturnType<typeof uk.members.list>>['rows'][number]

export const membersQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: ['team', workspaceId],
    queryFn: () => everyRow(uk.members.list({ id: workspaceId, limit: 100 })),
  })

/** After a change of who is in a workspace, or of what they may. */
export const refreshTeam = (workspaceId: string): Promise<unknown> =>
  Promise.all([
    queryClient.invalidateQueries({ queryKey: ['team', workspaceId] }),
    queryClient.invalidateQueries({ queryKey: ['members', workspaceId] }),
    queryClient.invalidateQueries({ queryKey: ['workspaces'] }),
  ])
