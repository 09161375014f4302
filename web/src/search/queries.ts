import { uk } from '../shared/api.ts'
import { pagedQuery } from '../shared/paged-query.ts'
import type { View } from './view.ts'

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
