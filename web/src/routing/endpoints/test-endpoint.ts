import { useQuery } from '@tanstack/react-query'
import { type ProviderTest, queryClient, uk } from '../../shared/api.ts'
import { sayError } from '../../ui/calls/errors.ts'
import { refreshRouting } from '../../shared/providers/queries.ts'

/** The last test result of an endpoint, kept while the app is open. */
export type Trial = { state: 'running' } | { state: 'done'; result: ProviderTest } | { state: 'failed'; why: string }

const keyOf = (id: string) => ['trial', id]

export async function test(id: string): Promise<void> {
  const set = (trial: Trial) => queryClient.setQueryData<Trial>(keyOf(id), trial)
  set({ state: 'running' })
  try {
    const result = await uk.ai_gateway.test({ id })
    await refreshRouting()
    set({ state: 'done', result })
  } catch (error) {
    set({ state: 'failed', why: sayError(error) })
  }
}

export const useTrial = (id: string): Trial | null =>
  useQuery<Trial | null>({ queryKey: keyOf(id), enabled: false, initialData: null, gcTime: Infinity }).data ?? null
