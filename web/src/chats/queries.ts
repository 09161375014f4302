import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { uk } from '../api.ts'

export type Message = Awaited<ReturnType<typeof uk.chats.messages>>['rows'][number]
export type Run = Awaited<ReturnType<typeof uk.chats.runs>>['rows'][number]

const goesOn = (run: Run | null | undefined): boolean => !!run && /^(queued|running|requires_action)$/.test(run.status)
const EVERY_MS = 3_000

export const chatQuery = (id: string) => queryOptions({ queryKey: ['chat', id], queryFn: () => uk.chats.get({ id }) })

/** The newest run, asked again while it goes on. */
export const runQuery = (id: string) =>
  queryOptions({
    queryKey: ['chat', id, 'run'],
    queryFn: async () => (await uk.chats.runs({ id, limit: 1 })).rows[0] ?? null,
    refetchInterval: ({ state }) => (goesOn(state.data) ? EVERY_MS : false),
  })

/** The active branch, newest first. `step` is how far the newest run is: another one, other messages. */
export const messagesQuery = (id: string, step: string | undefined) =>
  infiniteQueryOptions({
    queryKey: ['chat', id, 'messages', step],
    queryFn: ({ pageParam }) =>
      uk.chats.messages({ id, order: 'desc', limit: 30, ...(pageParam !== null && { cursor: pageParam }) }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next }) => next,
    placeholderData: (before) => before,
    enabled: step !== undefined,
  })
