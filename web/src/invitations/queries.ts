import { queryOptions } from '@tanstack/react-query'
import { everyRow, uk } from '../api.ts'

export const receivedQuery = queryOptions({
  queryKey: ['invitations'],
  queryFn: () => everyRow(uk.invitations.received({ limit: 100 })),
})
