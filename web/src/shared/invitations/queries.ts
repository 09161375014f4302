import { queryOptions } from '@tanstack/react-query'
import { everyRow, uk } from '../api.ts'

export const receivedQuery = queryOptions({
  queryKey: ['invitations'],
  queryFn: () => everyRow(uk.invitations.received({ limit: 100 })),
})

export type Preview = Awaited<ReturnType<typeof uk.invitations.preview>>

export const previewQuery = (token: string | null) =>
  queryOptions({
    queryKey: ['invitation', token],
    queryFn: () => (token === null ? null : uk.invitations.preview({ token })),
    retry: false,
  })
