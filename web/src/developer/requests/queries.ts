import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { uk } from '../../shared/api.ts'
import { pagedQuery } from '../../shared/paged-query.ts'
import { type Filters, queryOf } from './filters.ts'

export type LoggedRequest = Awaited<ReturnType<typeof uk.ai_gateway.requests>>['rows'][number]
export type Trace = Awaited<ReturnType<typeof uk.ai_gateway.request>>

/** Polls, since no events report model calls. */
const EVERY_MS = 5_000

export const requestsQuery = (filters: Filters) =>
  pagedQuery(['requests', filters], (from) => uk.ai_gateway.requests({ ...queryOf(filters), limit: 30, ...from }), {
    placeholderData: keepPreviousData,
    // Otherwise all loaded pages would be refetched.
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 0) > 1 ? false : EVERY_MS),
  })

export const requestQuery = (id: string) =>
  queryOptions({ queryKey: ['request', id], queryFn: () => uk.ai_gateway.request({ id }) })
