import { uk } from '../shared/api.ts'
import { pagedQuery } from '../shared/paged-query.ts'

export type Notification = Awaited<ReturnType<typeof uk.notifications.list>>['rows'][number]

export const inboxQuery = (only: 'all' | 'unread') =>
  pagedQuery(['inbox', only], (from) =>
    uk.notifications.list({
      limit: 30,
      ...(only === 'unread' && { status: 'unread' }),
      ...from,
    }),
  )
