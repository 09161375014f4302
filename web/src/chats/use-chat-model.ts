import { useQuery } from '@tanstack/react-query'
import type { Agent } from '../shared/agents/queries.ts'
import type { Chat } from '../shared/conversation/queries.ts'
import { settingsQuery } from '../shared/session.ts'
import { agentQuery, chatModelQuery } from './queries.ts'

export interface ChatModel {
  /** The chat's agent; null if the person can't view it, undefined while loading or without one. */
  agent: Agent | null | undefined
  /** The chosen or default model; null if only the server knows. */
  model: string | null
  /** The server's choice, if neither the chat nor the agent or the settings name a model. */
  byServer: string | null | undefined
}

export function useChatModel(chat: Chat): ChatModel {
  const { data: settings } = useQuery(settingsQuery)
  const { data: agent } = useQuery(agentQuery(chat.agent_id))
  const model = chat.model ?? agent?.model ?? (agent === null ? null : (settings?.default_model ?? null))
  const isUnnamed = settings !== undefined && (chat.agent_id === null || agent !== undefined) && model === null
  const { data: byServer } = useQuery(chatModelQuery(isUnnamed ? chat : null))
  return { agent, model, byServer }
}
