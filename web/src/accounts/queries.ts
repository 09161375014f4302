import { queryOptions } from '@tanstack/react-query'
import { everyRow, queryClient, uk } from '../api.ts'

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

export const ownRequestsQuery = queryOptions({
  queryKey: ['credit-requests', 'own'],
  queryFn: async () => (await uk.me.credit_requests({ limit: 1 })).rows,
})

export const refreshMoney = (): Promise<unknown> =>
  Promise.all([
    queryClient.invalidateQueries({ queryKey: ['accounts'] }),
    queryClient.invalidateQueries({ queryKey: ['credit-requests'] }),
    queryClient.invalidateQueries({ queryKey: ['usage'] }),
  ])
