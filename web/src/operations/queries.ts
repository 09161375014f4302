import { queryOptions } from '@tanstack/react-query'
import { queryClient, uk } from '../shared/api.ts'
import { pagedQuery } from '../shared/paged-query.ts'

export type Operation = Awaited<ReturnType<typeof uk.operations.get>>
export type Status = Operation['status']

/** The polling interval, since events don't report every step. */
const EVERY_MS = 3_000
export const isGoing = ({ status }: Operation): boolean => status === 'queued' || status === 'running'

export const operationsQuery = (status: Status | undefined, kind: string | undefined) =>
  pagedQuery(
    ['operations', 'list', status ?? '', kind ?? ''],
    (from) =>
      uk.operations.list({
        limit: 30,
        ...(status !== undefined && { status }),
        ...(kind !== undefined && { kind }),
        ...from,
      }),
    {
      refetchInterval: ({ state }) => (state.data?.pages.some(({ rows }) => rows.some(isGoing)) ? EVERY_MS : false),
    },
  )

export const operationQuery = (id: string) =>
  queryOptions({
    queryKey: ['operations', 'one', id],
    queryFn: () => uk.operations.get({ id }),
    refetchInterval: ({ state }) => (state.data && isGoing(state.data) ? EVERY_MS : false),
  })

export const refreshOperations = (): Promise<void> => queryClient.invalidateQueries({ queryKey: ['operations'] })
