import { queryOptions } from '@tanstack/react-query'
import { uk } from '../../shared/api.ts'

/** The first available transcription model; simulated models come last. */
export const listenerQuery = queryOptions({
  queryKey: ['models', 'transcription'],
  queryFn: async () => {
    const { rows } = await uk.audio.models({ kind: 'transcription', limit: 100 })
    return (rows.find(({ slug }) => !slug.startsWith('sim/')) ?? rows[0])?.slug ?? null
  },
  staleTime: 60_000,
})
