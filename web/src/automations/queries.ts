import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { uk } from '../api.ts'

export type Automation = Awaited<ReturnType<typeof uk.automations.get>>
export type AutomationRun = Awaited<ReturnType<typeof uk.automations.runs>>['rows'][number]

const EVERY_MS = 5_000

export const automationQuery = (id: string) =>
  queryOptions({ queryKey: ['automation', id], queryFn: () => uk.automations.get({ id }) })

export const costQuery = (id: string) =>
  queryOptions({ queryKey: ['automation', id, 'cost'], queryFn: () => uk.automations.cost_stats({ id }) })

/** Newest first, asked again while one goes on. */
export const runsQuery = (id: string) =>
  infiniteQueryOptions({
    queryKey: ['automation', id, 'runs'],
    queryFn: ({ pageParam }) =>
      uk.automations.runs({ id, limit: 20, ...(pageParam !== null && { cursor: pageParam }) }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next }) => next,
    refetchInterval: ({ state }) =>
      state.data?.pages.some(({ rows }) => rows.some(({ status }) => status === 'queued' || status === 'running'))
        ? EVERY_MS
        : false,
  })
