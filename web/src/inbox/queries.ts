import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { uk } from '../api.ts'

export type Notification = Awaited<ReturnType<typeof uk.notifications.list>>['rows'][number]

export const inboxQuery = (only: 'all' | 'unread') =>
  infiniteQueryOptions({
    queryKey: ['inbox', only],
    queryFn: ({ pageParam }) =>
      uk.notifications.list({
        limit: 30,
        ...(only === 'unread' && { status: 'unread' }),
        ...(pageParam !== null && { cursor: pageParam }),
      }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next }) => next,
  })

/** How many are unread. */
export const unreadQuery = queryOptions({
  queryKey: ['inbox', 'count'],
  queryFn: async () => (await uk.notifications.config()).unread_count,
  staleTime: 60_000,
})
