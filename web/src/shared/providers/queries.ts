import { queryOptions } from '@tanstack/react-query'
import { type Provider, everyRow, queryClient, uk } from '../api.ts'

const UNSETTLED_MS = 10_000
/** Polls while the server is testing a new provider or retesting a failing one. */
const whileUnsettled = ({ state: { data } }: { state: { data: readonly Pick<Provider, 'status'>[] | undefined } }) =>
  data?.some(({ status }) => status === 'failing' || status === 'untested') ? UNSETTLED_MS : false

export const providersQuery = queryOptions({
  queryKey: ['routing', 'providers'],
  queryFn: () => everyRow(uk.ai_gateway.providers({ limit: 100 })),
  refetchInterval: whileUnsettled,
})
export const endpointsQuery = queryOptions({
  queryKey: ['routing', 'endpoints'],
  queryFn: () => everyRow(uk.ai_gateway.list({ limit: 100 })),
  refetchInterval: whileUnsettled,
})
export const presetsQuery = queryOptions({
  queryKey: ['presets'],
  queryFn: () => everyRow(uk.ai_gateway.presets({ limit: 100 })),
  staleTime: Infinity,
})
/** Endpoints and models depend on each other, so both are refetched. */
export async function refreshRouting(): Promise<void> {
  await Promise.all([
    queryClient.invalidateQueries({ queryKey: ['routing'] }),
    queryClient.invalidateQueries({ queryKey: ['models'] }),
    queryClient.invalidateQueries({ queryKey: ['example-model'] }),
  ])
}
