import { queryOptions } from '@tanstack/react-query'
import { uk } from '../api.ts'

export const modelsQuery = (words: string) =>
  queryOptions({
    queryKey: ['models', words],
    queryFn: async () => (await uk.models.search({ limit: 50, ...(words && { q: words }) })).items,
    staleTime: 60_000,
  })
