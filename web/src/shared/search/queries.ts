import { queryOptions } from '@tanstack/react-query'
import { uk } from '../api.ts'

export const quickQuery = (words: string) =>
  queryOptions({
    queryKey: ['search', 'quick', words],
    queryFn: async ({ signal }) => (await uk.search.query({ q: words, limit: 12 }, { signal })).rows,
    enabled: words !== '',
    staleTime: 30_000,
  })
