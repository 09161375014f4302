import { queryOptions } from '@tanstack/react-query'
import { everyRow, uk } from '../shared/api.ts'

export type AccountRow = Awaited<ReturnType<typeof uk.admin.accounts>>['rows'][number]
export type CreditRequest = Awaited<ReturnType<typeof uk.admin.credit_requests>>['rows'][number]

export const accountsQuery = queryOptions({
  queryKey: ['accounts'],
  queryFn: () => everyRow(uk.admin.accounts({ limit: 100 })),
})

export const requestsQuery = queryOptions({
  queryKey: ['credit-requests', 'pending'],
  queryFn: () => everyRow(uk.admin.credit_requests({ status: 'pending', limit: 100 })),
})
