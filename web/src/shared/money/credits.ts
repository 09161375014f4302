import { queryOptions } from '@tanstack/react-query'
import { queryClient, uk } from '../api.ts'

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
