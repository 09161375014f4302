import { queryOptions } from '@tanstack/react-query'
import { type Provider, everyRow, queryClient, uk } from '../api.ts'

const UNSETTLED_MS = 10_000
/**
 * The time between two looks while a row is unsettled: a provider that fails is tested again by itself, and a new one
 * may be under test still.
 */
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
/** The endpoints and the models depend on each other, so both are read again. */
export async function refreshRouting(): Promise<void> {
  await Promise.all([
    queryClient.invalidateQueries({ queryKey: ['routing'] }),
    queryClient.invalidateQueries({ queryKey: ['models'] }),
    queryClient.invalidateQueries({ queryKey: ['example-model'] }),
  ])
}
