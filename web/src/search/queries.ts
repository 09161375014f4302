import { queryOptions } from '@tanstack/react-query'
import { uk } from '../api.ts'
import { pagedQuery } from '../paged-query.ts'
import type { View } from './view.ts'

export const quickQuery = (words: string) =>
  queryOptions({
    queryKey: ['search', 'quick', words],
    queryFn: async ({ signal }) => (await uk.search.query({ q: words, limit: 12 }, { signal })).rows,
    enabled: words !== '',
    staleTime: 30_000,
  })

export const searchQuery = ({ q, types, workspace }: View) =>
  pagedQuery(
    ['search', q, types, workspace],
    (from, { signal }) =>
      uk.search.query(
        {
          q: q!,
          limit: 30,
          ...(types && { types }),
          ...(workspace && { workspace_id: workspace }),
          ...from,
        },
        { signal },
      ),
    { enabled: q !== undefined, staleTime: 30_000 },
  )
