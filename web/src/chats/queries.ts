import { queryOptions } from '@tanstack/react-query'
import { uk, unlessRefused } from '../api.ts'
import { pagedQuery } from '../paged-query.ts'

export type Chat = Awaited<ReturnType<typeof uk.chats.get>>
export type Message = Awaited<ReturnType<typeof uk.chats.messages>>['rows'][number]
export type Run = Awaited<ReturnType<typeof uk.chats.runs>>['rows'][number]
type Streamed<T> = T extends AsyncIterable<infer E> ? E : never
export type RunEvent = Streamed<Awaited<ReturnType<typeof uk.chats.events>>>

export const chatQuery = (id: string) => queryOptions({ queryKey: ['chat', id], queryFn: () => uk.chats.get({ id }) })

/** All chats that the person reads, newest first. */
export const chatsQuery = (status: 'active' | 'archived', temporary: boolean) =>
  pagedQuery(['chats', status, temporary], (from) => uk.chats.list({ status, temporary, limit: 50, ...from }))

/** The chats that the person has pinned. */
export const pinnedQuery = queryOptions({
  queryKey: ['chats', 'pinned'],
  queryFn: async () => (await uk.chats.pinned({ limit: 100 })).rows,
})

/** The tools that the person lets the agent of a chat use without being asked again. */
export const approvalsQuery = (chatId: string, enabled: boolean) =>
  queryOptions({
    queryKey: ['chats', chatId, 'approvals'],
    queryFn: async () => (await uk.chats.approvals({ id: chatId, limit: 100 })).rows,
    enabled,
  })

/** The chats with these words in their title or messages. */
export const foundChatsQuery = (words: string) =>
  queryOptions({
    queryKey: ['chats', 'found', words],
    queryFn: async () => (await uk.search.query({ q: words, types: ['chat', 'message'], limit: 30 })).rows,
    enabled: words !== '',
  })

export const settingsQuery = queryOptions({
  queryKey: ['settings'],
  queryFn: () => uk.settings.get(),
  staleTime: 60_000,
})

/** The model that answers this person in a chat; null where none can. Refused to who may only read it. */
export const chatModelQuery = (chat: Chat | null) =>
  queryOptions({
    // Beside the models, as the one below: a provider that is added or gone may change it.
    queryKey: ['models', 'of a chat', chat?.id, chat?.model, chat?.agent_id],
    queryFn: async () => (await uk.chats.model({ id: chat!.id })).model,
    enabled: chat !== null,
  })

/** The model that the server takes where nothing of a chat names one; null where it has none. */
export const defaultModelQuery = (workspaceId: string | null) =>
  queryOptions({
    // The key stands beside the models': a provider that is added or gone may change it.
    queryKey: ['models', 'default', workspaceId],
    queryFn: async () => (await uk.chats.default_model({ workspace_id: workspaceId! })).model,
    enabled: workspaceId !== null,
  })

/** The agent; null: it is not theirs to see. */
export const agentQuery = (id: string | null) =>
  queryOptions({
    queryKey: ['agent', id],
    queryFn: () => unlessRefused(uk.agents.get({ id: id! })),
    enabled: id !== null,
    staleTime: 60_000,
  })
