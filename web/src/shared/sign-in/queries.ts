import { queryOptions } from '@tanstack/react-query'
import { uk } from '../api.ts'

export const waysQuery = queryOptions({
  queryKey: ['ways-in'],
  queryFn: () => uk.ways_in.list(),
  staleTime: 300_000,
})
