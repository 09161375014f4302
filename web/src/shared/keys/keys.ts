import { queryOptions } from '@tanstack/react-query'
import { type ApiKey, everyRow, queryClient, uk } from '../api.ts'

export const keysQuery = queryOptions({
  queryKey: ['keys'],
  queryFn: () => everyRow(uk.api_keys.list({ limit: 100 })),
})
/** The keys restricted to this workspace: everyone's for admins, otherwise the person's own. */
export const keysWithinQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: ['keys', workspaceId],
    queryFn: () => everyRow(uk.api_keys.list({ workspace_id: workspaceId, limit: 100 })),
  })
export const refreshKeys = (): Promise<void> => queryClient.invalidateQueries({ queryKey: ['keys'] })

export function sortKeys(keys: readonly ApiKey[]): { active: ApiKey[]; ended: ApiKey[] } {
  return {
    active: keys.filter(({ status }) => status === 'active'),
    ended: keys.filter(({ status }) => status !== 'active'),
  }
}
