import { queryOptions } from '@tanstack/react-query'
import { everyRow, uk } from '../shared/api.ts'

export type Preference = Awaited<ReturnType<typeof uk.notifications.preferences>>['preferences'][number]
export type Channel = Preference['channel']

export const preferencesQuery = queryOptions({
  queryKey: ['notification-preferences'],
  queryFn: () => uk.notifications.preferences(),
})

export const browsersQuery = queryOptions({
  queryKey: ['push-subscriptions'],
  queryFn: () => everyRow(uk.notifications.push_subscriptions({ limit: 100 })),
})
