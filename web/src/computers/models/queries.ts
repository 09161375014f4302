import { queryOptions } from '@tanstack/react-query'
import { queryClient, uk } from '../../shared/api.ts'

export type Inference = Exclude<Awaited<ReturnType<typeof uk.computers.local_inference>>, { operation: unknown }>
export type Model = Awaited<ReturnType<typeof uk.computers.local_models>>['rows'][number]
export type Install = Awaited<ReturnType<typeof uk.computers.local_operations>>['rows'][number]

const GOING_MS = 1_000
const RESTING_MS = 15_000
const SHOWN = 10

export const isGoing = ({ status }: Pick<Install, 'status'>): boolean => status === 'queued' || status === 'running'

export const inferenceQuery = (id: string) =>
  queryOptions({
    queryKey: ['local-models', id, 'engine'],
    queryFn: async () => {
      const answer = await uk.computers.local_inference({ id, action: 'status' })
      return 'engines' in answer ? answer : null
    },
    refetchInterval: RESTING_MS,
  })

export const modelsQuery = (id: string) =>
  queryOptions({
    queryKey: ['local-models', id, 'models'],
    queryFn: async () => (await uk.computers.local_models({ id, limit: 100 })).rows,
  })

/** Polls faster during installations. */
export const installsQuery = (id: string) =>
  queryOptions({
    queryKey: ['local-models', id, 'installs'],
    queryFn: async () => {
      const { rows } = await uk.computers.local_operations({ id, limit: SHOWN })
      return rows
    },
    refetchInterval: ({ state }) => (state.data?.some(isGoing) ? GOING_MS : RESTING_MS),
  })

export const refreshModels = (id: string): Promise<void> =>
  queryClient.invalidateQueries({ queryKey: ['local-models', id] })
