import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { everyRow, queryClient, uk } from '../api.ts'

export type Agent = Awaited<ReturnType<typeof uk.agents.get>>
export type AgentVersion = Awaited<ReturnType<typeof uk.agents.versions>>['rows'][number]
export type Policy = Agent['tools'][number]['policy']
export type AgentChanges = Omit<Parameters<typeof uk.agents.update>[0], 'id'>

export const agentsQuery = (status: 'active' | 'archived', workspaceId: string | undefined) =>
  infiniteQueryOptions({
    queryKey: ['agents', 'list', status, workspaceId ?? ''],
    queryFn: ({ pageParam }) =>
      uk.agents.list({
        status,
        limit: 30,
        ...(workspaceId !== undefined && { workspace_id: workspaceId }),
        ...(pageParam !== null && { cursor: pageParam }),
      }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next }) => next,
  })

export const agentQuery = (id: string) =>
  queryOptions({ queryKey: ['agents', 'one', id], queryFn: () => uk.agents.get({ id }) })

/** The agents of a workspace, to choose from. */
export const agentsInQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: ['agents', 'in', workspaceId],
    queryFn: () => everyRow(uk.agents.list({ workspace_id: workspaceId, limit: 100 })),
    staleTime: 30_000,
  })

export const versionsQuery = (id: string) =>
  infiniteQueryOptions({
    queryKey: ['agents', 'one', id, 'versions'],
    queryFn: ({ pageParam }) => uk.agents.versions({ id, limit: 20, ...(pageParam !== null && { cursor: pageParam }) }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next }) => next,
  })

export const agentChatsQuery = (id: string) =>
  infiniteQueryOptions({
    queryKey: ['agents', 'one', id, 'chats'],
    queryFn: ({ pageParam }) =>
      uk.chats.list({ agent_id: id, limit: 20, ...(pageParam !== null && { cursor: pageParam }) }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next }) => next,
  })

/** The automations that set an agent to work, of its own workspace. */
export const agentAutomationsQuery = (id: string, workspaceId: string) =>
  queryOptions({
    queryKey: ['automations', 'of agent', id],
    queryFn: async () =>
      (await everyRow(uk.automations.list({ workspace_id: workspaceId, limit: 100 }))).filter(
        ({ action }) => action.type === 'agent' && action.agent_id === id,
      ),
  })

/** The computers that a workspace reaches. */
export const computersQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: ['computers', 'in', workspaceId],
    queryFn: () => everyRow(uk.computers.list({ workspace_id: workspaceId, limit: 100 })),
    staleTime: 15_000,
  })

/** After a change of an agent; chats with it name it, too. */
export const refreshAgents = (): Promise<unknown> =>
  Promise.all([
    queryClient.invalidateQueries({ queryKey: ['agents'] }),
    queryClient.invalidateQueries({ queryKey: ['agent'] }),
  ])
