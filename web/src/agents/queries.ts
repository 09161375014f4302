import { queryOptions } from '@tanstack/react-query'
import type { Agent } from '../shared/agents/queries.ts'
import { everyRow, queryClient, uk } from '../shared/api.ts'
import { pagedQuery } from '../shared/paged-query.ts'

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

export const versionsQuery = (id: string) =>
  pagedQuery(['agents', 'one', id, 'versions'], (from) => uk.agents.versions({ id, limit: 20, ...from }))

export const agentAutomationsQuery = (id: string, workspaceId: string) =>
  queryOptions({
    queryKey: ['automations', 'of agent', id],
    queryFn: async () =>
      (await everyRow(uk.automations.list({ workspace_id: workspaceId, limit: 100 }))).filter(
        ({ action }) => action.type === 'agent' && action.agent_id === id,
      ),
  })

export const refreshAgents = (): Promise<unknown> =>
  Promise.all([
    queryClient.invalidateQueries({ queryKey: ['agents'] }),
    queryClient.invalidateQueries({ queryKey: ['agent'] }),
  ])
