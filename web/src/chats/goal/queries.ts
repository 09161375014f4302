import { queryOptions } from '@tanstack/react-query'
import { uk } from '../../shared/api.ts'

export type Goal = Awaited<ReturnType<typeof uk.chats.goal>>

export const goalQuery = (chatId: string) =>
  queryOptions({
    queryKey: ['goal', chatId],
    queryFn: async () => (await uk.chats.goal_or_none({ id: chatId })).goal,
  })
