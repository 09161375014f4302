import { queryOptions } from '@tanstack/react-query'
import { everyRow, uk } from '../api.ts'
import { pagedQuery } from '../paged-query.ts'

export type Agent = Awaited<ReturnType<typeof uk.agents.get>>
export const agentQuery = (id: string) =>
  queryOptions({ queryKey: ['agents', 'one', id], queryFn: () => uk.agents.get({ id }) })

export const agentsInQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: ['agents', 'in', workspaceId],
    queryFn: () => everyRow(uk.agents.list({ workspace_id: workspaceId, limit: 100 })),
    enabled: workspaceId !== '',
    staleTime: 30_000,
  })

export const agentChatsQuery = (id: string) =>
  pagedQuery(['agents', 'one', id, 'chats'], (from) => uk.chats.list({ agent_id: id, limit: 20, ...from }))

export const computersQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: ['computers', 'in', workspaceId],
    queryFn: () => everyRow(uk.computers.list({ workspace_id: workspaceId, limit: 100 })),
    enabled: workspaceId !== '',
    staleTime: 15_000,
  })
