import { queryOptions } from '@tanstack/react-query'
import { everyRow, queryClient, uk } from '../../shared/api.ts'
import { pagedQuery } from '../../shared/paged-query.ts'

export type Webhook = Awaited<ReturnType<typeof uk.webhooks.get>>
export type Delivery = Awaited<ReturnType<typeof uk.webhooks.delivery>>
export type EventType = Awaited<ReturnType<typeof uk.webhooks.event_types>>['rows'][number]

const SOON_MS = 1_500
const LATER_MS = 15_000

export const webhooksQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: ['webhooks', 'in', workspaceId],
    queryFn: () => everyRow(uk.webhooks.list({ workspace_id: workspaceId, limit: 100 })),
  })
export const webhookQuery = (id: string) =>
  queryOptions({ queryKey: ['webhooks', id], queryFn: () => uk.webhooks.get({ id }) })

export const eventTypesQuery = queryOptions({
  queryKey: ['webhook-event-types'],
  queryFn: () => everyRow(uk.webhooks.event_types({ limit: 100 })),
  staleTime: Infinity,
})

/** Newest first. Polls while deliveries are pending, since no events report attempts. */
export const deliveriesQuery = (id: string, status: Delivery['status'] | undefined) =>
  pagedQuery(
    ['webhooks', id, 'deliveries', status ?? 'all'],
    (from) => uk.webhooks.deliveries({ id, limit: 20, ...(status && { status }), ...from }),
    {
      refetchInterval: ({ state }) =>
        state.data?.pages.some(({ rows }) => rows.some((row) => row.status === 'waiting')) ? SOON_MS : LATER_MS,
    },
  )

export const refreshWebhooks = (): Promise<void> => queryClient.invalidateQueries({ queryKey: ['webhooks'] })
