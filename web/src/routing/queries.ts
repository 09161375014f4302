import { queryOptions } from '@tanstack/react-query'
import { everyRow, queryClient, uk } from '../api.ts'

export const providersQuery = queryOptions({
  queryKey: ['routing', 'providers'],
  queryFn: () => everyRow(uk.ai_gateway.providers({ limit: 100 })),
})
export const endpointsQuery = queryOptions({
  queryKey: ['routing', 'endpoints'],
  queryFn: () => everyRow(uk.ai_gateway.list({ limit: 100 })),
})
export const presetsQuery = queryOptions({
  queryKey: ['presets'],
  queryFn: () => everyRow(uk.ai_gateway.presets({ limit: 100 })),
  staleTime: Infinity,
})
/** The endpoints and the models depend on each other, so both are read again. */
export async function refreshRouting(): Promise<void> {
  await Promise.all([
    queryClient.invalidateQueries({ queryKey: ['routing'] }),
    queryClient.invalidateQueries({ queryKey: ['models'] }),
    queryClient.invalidateQueries({ queryKey: ['example-model'] }),
  ])
}
