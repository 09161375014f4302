import { queryOptions } from '@tanstack/react-query'
import { uk } from '../api.ts'

export const unreadQuery = queryOptions({
  queryKey: ['inbox', 'count'],
  queryFn: async () => (await uk.notifications.config()).unread_count,
  staleTime: 60_000,
})
