import { queryOptions } from '@tanstack/react-query'
import { uk } from '../api.ts'
import { pagedQuery } from '../paged-query.ts'

export type Notification = Awaited<ReturnType<typeof uk.notifications.list>>['rows'][number]

export const inboxQuery = (only: 'all' | 'unread') =>
  pagedQuery(['inbox', only], (from) =>
    uk.notifications.list({
      limit: 30,
      ...(only === 'unread' && { status: 'unread' }),
      ...from,
    }),
  )

export const unreadQuery = queryOptions({
  queryKey: ['inbox', 'count'],
  queryFn: async () => (await uk.notifications.config()).unread_count,
  staleTime: 60_000,
})
