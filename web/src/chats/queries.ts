import { queryOptions } from '@tanstack/react-query'
import type { Chat } from '../shared/conversation/queries.ts'
import { uk, unlessRefused } from '../shared/api.ts'
import { pagedQuery } from '../shared/paged-query.ts'

export const chatQuery = (id: string) => queryOptions({ queryKey: ['chat', id], queryFn: () => uk.chats.get({ id }) })

export const chatsQuery = (status: 'active' | 'archived', temporary: boolean) =>
  pagedQuery(['chats', status, temporary], (from) => uk.chats.list({ status, temporary, limit: 50, ...from }))

export const pinnedQuery = queryOptions({
  queryKey: ['chats', 'pinned'],
  queryFn: async () => (await uk.chats.pinned({ limit: 100 })).rows,
})

/** The tools that the chat's agent can use without asking this person again. */
export const approvalsQuery = (chatId: string, enabled: boolean) =>
  queryOptions({
    queryKey: ['chats', chatId, 'approvals'],
    queryFn: async () => (await uk.chats.approvals({ id: chatId, limit: 100 })).rows,
    enabled,
  })

export const foundChatsQuery = (words: string) =>
  queryOptions({
    queryKey: ['chats', 'found', words],
    queryFn: async () => (await uk.search.query({ q: words, types: ['chat', 'message'], limit: 30 })).rows,
    enabled: words !== '',
  })

/** The model that would answer this person in a chat; null if there is none. Viewers get an error. */
export const chatModelQuery = (chat: Chat | null) =>
  queryOptions({
    // Under the models' key, like the one below: adding or removing a provider can change it.
    queryKey: ['models', 'of a chat', chat?.id, chat?.model, chat?.agent_id],
    queryFn: async () => (await uk.chats.model({ id: chat!.id })).model,
    enabled: chat !== null,
  })

export const agentQuery = (id: string | null) =>
  queryOptions({
    queryKey: ['agent', id],
    queryFn: () => unlessRefused(uk.agents.get({ id: id! })),
    enabled: id !== null,
    staleTime: 60_000,
  })
