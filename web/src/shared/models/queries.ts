import { queryOptions } from '@tanstack/react-query'
import { uk } from '../api.ts'

export const modelsQuery = (words: string) =>
  queryOptions({
    queryKey: ['models', words],
    queryFn: async () => (await uk.models.search({ limit: 50, ...(words && { q: words }) })).items,
    staleTime: 60_000,
  })

export const defaultModelQuery = (workspaceId: string | null) =>
  queryOptions({
    // Under the models' key: adding or removing a provider can change it.
    queryKey: ['models', 'default', workspaceId],
    queryFn: async () => (await uk.chats.default_model({ workspace_id: workspaceId! })).model,
    enabled: workspaceId !== null,
  })
