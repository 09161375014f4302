import { queryOptions } from '@tanstack/react-query'
import { refusal, uk } from '../../api.ts'

export type Goal = Awaited<ReturnType<typeof uk.chats.goal>>

/** Null: the branch has none. */
export const goalQuery = (chatId: string) =>
  queryOptions({
    queryKey: ['goal', chatId],
    queryFn: () =>
      uk.chats.goal({ id: chatId }).catch((error: unknown) => {
        if (refusal(error)?.status === 404) return null
        throw error
      }),
  })
