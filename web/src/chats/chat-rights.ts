import { useQuery } from '@tanstack/react-query'
import { refusal } from '../api.ts'
import { usePlace } from '../rights.ts'
import { type Chat, chatModelQuery } from './queries.ts'

export interface ChatRights {
  /** Sends messages, and changes what the chat is; null while it is not known. */
  write: boolean | null
  /** Archives, restores and throws away: for those of its workspace. */
  keep: boolean
}

/** What the person may do in a chat. Of a share the server says it, where it says which model would answer them. */
export function useChatRights(chat: Chat | null): ChatRights {
  const place = usePlace(chat?.workspace_id)
  const isShared = place.known && place.workspace === null
  const { isPending, error } = useQuery(chatModelQuery(isShared ? chat : null))
  if (!place.known) return { write: null, keep: false }
  if (!isShared) return { write: place.may('chat:run') && place.may('chat:write'), keep: place.may('chat:write') }
  const status = refusal(error)?.status
  return { write: isPending ? null : status !== 403 && status !== 404, keep: false }
}
