import { queryOptions } from '@tanstack/react-query'
import { queryClient, uk } from '../shared/api.ts'
import { pagedQuery } from '../shared/paged-query.ts'

export type Automation = Awaited<ReturnType<typeof uk.automations.get>>
export type AutomationRun = Awaited<ReturnType<typeof uk.automations.runs>>['rows'][number]
export type Firing = Awaited<ReturnType<typeof uk.automations.firings>>['firings'][number]

/** The fallback polling interval for runs. */
const EVERY_MS = 5_000
const isGoing = ({ status }: AutomationRun): boolean => status === 'queued' || status === 'running'

export const automationsQuery = (status: 'active' | 'archived', workspaceId: string | undefined) =>
  pagedQuery(['automations', 'list', status, workspaceId ?? ''], (from) =>
    uk.automations.list({
      status,
      limit: 30,
      ...(workspaceId !== undefined && { workspace_id: workspaceId }),
      ...from,
    }),
  )

export const automationQuery = (id: string) =>
  queryOptions({ queryKey: ['automations', 'one', id], queryFn: () => uk.automations.get({ id }) })

export const costQuery = (id: string) =>
  queryOptions({ queryKey: ['automations', 'one', id, 'cost'], queryFn: () => uk.automations.cost_stats({ id }) })

/** Newest first. Polls while a run is active. */
export const runsQuery = (id: string) =>
  pagedQuery(['automations', 'one', id, 'runs'], (from) => uk.automations.runs({ id, limit: 30, ...from }), {
    refetchInterval: ({ state }) => (state.data?.pages.some(({ rows }) => rows.some(isGoing)) ? EVERY_MS : false),
  })

export const runQuery = (id: string, runId: string) =>
  queryOptions({
    queryKey: ['automations', 'one', id, 'run', runId],
    queryFn: () => uk.automations.run({ id, runId }),
    refetchInterval: ({ state }) => (state.data && isGoing(state.data) ? EVERY_MS : false),
  })

/** The next runs of a schedule, computed by the server. Invalid schedules aren't retried. */
export const firingsQuery = (schedule: string, timeZone: string) =>
  queryOptions({
    queryKey: ['firings', schedule, timeZone],
    queryFn: () => uk.automations.firings({ schedule, time_zone: timeZone, count: 5 }),
    enabled: schedule !== '',
    staleTime: 30_000,
    retry: false,
  })

export const refreshAutomations = (): Promise<void> => queryClient.invalidateQueries({ queryKey: ['automations'] })
