import { useQuery } from '@tanstack/react-query'
import { refusal } from '../ui/calls/errors.ts'
import { usePlace } from '../shared/rights.ts'
import { chatModelQuery } from './queries.ts'
import type { Chat } from '../shared/conversation/queries.ts'

export interface ChatRights {
  /** Can send messages and edit the chat; null while loading. */
  write: boolean | null
  /** Can archive, restore and trash the chat: members of its workspace only. */
  keep: boolean
}

/** The person's permissions in a chat. For shared chats, the server returns them with the model. */
export function useChatRights(chat: Chat | null): ChatRights {
  const place = usePlace(chat?.workspace_id)
  const isShared = place.known && place.workspace === null
  const { isPending, error } = useQuery(chatModelQuery(isShared ? chat : null))
  if (!place.known) return { write: null, keep: false }
  if (!isShared) return { write: place.may('chat:run') && place.may('chat:write'), keep: place.may('chat:write') }
  const status = refusal(error)?.status
  return { write: isPending ? null : status !== 403 && status !== 404, keep: false }
}
