import { queryOptions } from '@tanstack/react-query'
import { everyRow, queryClient, uk } from '../api.ts'
import { pagedQuery } from '../paged-query.ts'

export type Agent = Awaited<ReturnType<typeof uk.agents.get>>
export type AgentVersion = Awaited<ReturnType<typeof uk.agents.versions>>['rows'][number]
export type Policy = Agent['tools'][number]['policy']
export type AgentChanges = Omit<Parameters<typeof uk.agents.update>[0], 'id'>

export const agentsQuery = (status: 'active' | 'archived', workspaceId: string | undefined) =>
  pagedQuery(['agents', 'list', status, workspaceId ?? ''], (from) =>
    uk.agents.list({
      status,
      limit: 30,
      ...(workspaceId !== undefined && { workspace_id: workspaceId }),
      ...from,
    }),
  )

export const agentQuery = (id: string) =>
  queryOptions({ queryKey: ['agents', 'one', id], queryFn: () => uk.agents.get({ id }) })

export const agentsInQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: ['agents', 'in', workspaceId],
    queryFn: () => everyRow(uk.agents.list({ workspace_id: workspaceId, limit: 100 })),
    enabled: workspaceId !== '',
    staleTime: 30_000,
  })

export const versionsQuery = (id: string) =>
  pagedQuery(['agents', 'one', id, 'versions'], (from) => uk.agents.versions({ id, limit: 20, ...from }))

export const agentChatsQuery = (id: string) =>
  pagedQuery(['agents', 'one', id, 'chats'], (from) => uk.chats.list({ agent_id: id, limit: 20, ...from }))

export const agentAutomationsQuery = (id: string, workspaceId: string) =>
  queryOptions({
    queryKey: ['automations', 'of agent', id],
    queryFn: async () =>
      (await everyRow(uk.automations.list({ workspace_id: workspaceId, limit: 100 }))).filter(
        ({ action }) => action.type === 'agent' && action.agent_id === id,
      ),
  })

export const computersQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: ['computers', 'in', workspaceId],
    queryFn: () => everyRow(uk.computers.list({ workspace_id: workspaceId, limit: 100 })),
    enabled: workspaceId !== '',
    staleTime: 15_000,
  })

export const refreshAgents = (): Promise<unknown> =>
  Promise.all([
    queryClient.invalidateQueries({ queryKey: ['agents'] }),
    queryClient.invalidateQueries({ queryKey: ['agent'] }),
  ])
