import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { everyRow, queryClient, uk } from '../api.ts'

export type Automation = Awaited<ReturnType<typeof uk.automations.get>>
export type AutomationRun = Awaited<ReturnType<typeof uk.automations.runs>>['rows'][number]
export type Firing = Awaited<ReturnType<typeof uk.automations.firings>>['firings'][number]

/** Runs that are asked for anew where no event came. */
const EVERY_MS = 5_000
const isGoing = ({ status }: AutomationRun): boolean => status === 'queued' || status === 'running'

export const automationsQuery = (status: 'active' | 'archived', workspaceId: string | undefined) =>
  infiniteQueryOptions({
    queryKey: ['automations', 'list', status, workspaceId ?? ''],
    queryFn: ({ pageParam }) =>
      uk.automations.list({
        status,
        limit: 30,
        ...(workspaceId !== undefined && { workspace_id: workspaceId }),
        ...(pageParam !== null && { cursor: pageParam }),
      }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next }) => next,
  })

export const automationQuery = (id: string) =>
  queryOptions({ queryKey: ['automations', 'one', id], queryFn: () => uk.automations.get({ id }) })

export const costQuery = (id: string) =>
  queryOptions({ queryKey: ['automations', 'one', id, 'cost'], queryFn: () => uk.automations.cost_stats({ id }) })

/** Newest first, asked again while one goes on. */
export const runsQuery = (id: string) =>
  infiniteQueryOptions({
    queryKey: ['automations', 'one', id, 'runs'],
    queryFn: ({ pageParam }) =>
      uk.automations.runs({ id, limit: 30, ...(pageParam !== null && { cursor: pageParam }) }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next }) => next,
    refetchInterval: ({ state }) => (state.data?.pages.some(({ rows }) => rows.some(isGoing)) ? EVERY_MS : false),
  })

export const runQuery = (id: string, runId: string) =>
  queryOptions({
    queryKey: ['automations', 'one', id, 'run', runId],
    queryFn: () => uk.automations.run({ id, runId }),
    refetchInterval: ({ state }) => (state.data && isGoing(state.data) ? EVERY_MS : false),
  })

/** When a schedule fires next, as the server reckons it. What is not a schedule stays refused. */
export const firingsQuery = (schedule: string, timeZone: string) =>
  queryOptions({
    queryKey: ['firings', schedule, timeZone],
    queryFn: () => uk.automations.firings({ schedule, time_zone: timeZone, count: 5 }),
    enabled: schedule !== '',
    staleTime: 30_000,
    retry: false,
  })

/** The agents that an automation of a workspace may set to work. */
export const agentsForQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: ['agents', 'in', workspaceId],
    queryFn: () => everyRow(uk.agents.list({ workspace_id: workspaceId, limit: 100 })),
    enabled: workspaceId !== '',
  })

/** The computers on which the person may run commands in a workspace. */
export const computersForQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: ['computers', 'in', workspaceId],
    queryFn: () => everyRow(uk.computers.list({ workspace_id: workspaceId, limit: 100 })),
    enabled: workspaceId !== '',
  })

export const refreshAutomations = (): Promise<void> => queryClient.invalidateQueries({ queryKey: ['automations'] })
