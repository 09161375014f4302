import { queryOptions } from '@tanstack/react-query'
import { everyRow, uk, unlessRefused } from '../shared/api.ts'

export type Chat = Awaited<ReturnType<typeof uk.chats.list>>['rows'][number]
export type Run = Awaited<ReturnType<typeof uk.chats.runs>>['rows'][number]

const MAX_RUNS = 12

/** The recent chats of all workspaces. Shares its cache with the chats page. */
export const lastChatsQuery = queryOptions({
  queryKey: ['chats', 'last'],
  queryFn: async () => (await uk.chats.list({ limit: 6 })).rows,
})

export interface Going {
  chat: Chat
  run: Run
}

export const goingQuery = queryOptions({
  queryKey: ['chats', 'going'],
  queryFn: async (): Promise<Going[]> => {
    const { rows } = await uk.chats.list({ limit: 100 })
    const busy = rows.filter(({ active_run_id }) => active_run_id !== null).slice(0, MAX_RUNS)
    const runs = busy.map(async (chat) => {
      // The run may have ended, or the chat been deleted, in the meantime.
      const run = await unlessRefused(uk.chats.run({ id: chat.id, run_id: chat.active_run_id! }))
      return run === null ? [] : [{ chat, run }]
    })
    return (await Promise.all(runs)).flat()
  },
})

export const runningOperationsQuery = queryOptions({
  queryKey: ['operations', 'running'],
  queryFn: async () => (await uk.operations.list({ status: 'running', limit: 6 })).rows,
})

export const lastFilesQuery = queryOptions({
  queryKey: ['drive', 'last'],
  queryFn: async () => (await uk.drive.latest({ limit: 6 })).rows,
})

/** How many providers are tested automatically: enough for a first response. */
const MAX_ASKED_ABOUT = 4

/** Text models: the cheapest ones, and some of working providers that have none among those. */
export const writersQuery = queryOptions({
  queryKey: ['models', 'writers'],
  queryFn: async () => {
    const [{ items }, providers] = await Promise.all([
      uk.models.search({ sort: 'price', limit: 100 }),
      everyRow(uk.ai_gateway.providers({ limit: 100 })),
    ])
    const listed = new Set(items.map(({ provider }) => provider))
    const others = providers.filter(({ slug, serving }) => serving && !listed.has(slug)).slice(0, MAX_ASKED_ABOUT)
    const theirs = await Promise.all(others.map(({ slug }) => uk.models.search({ provider: slug, limit: 20 })))
    return [...items, ...theirs.flatMap((of) => of.items)].filter(({ modalities }) =>
      modalities.output.includes('text'),
    )
  },
})

/** The first day of the month in UTC, like budgets. */
export const firstOfMonth = (now: number): string => `${new Date(now).toISOString().slice(0, 7)}-01`

export const monthQuery = queryOptions({
  queryKey: ['usage', 'month'],
  queryFn: async () => (await uk.ai_gateway.usage({ from: firstOfMonth(Date.now()), limit: 1 })).total,
})
