import type { WrittenMessage } from './written.ts'

export type FirstMessage = WrittenMessage & { model: string | null }

const waiting = new Map<string, FirstMessage>()

export const keepFirst = (chatId: string, message: FirstMessage): void => void waiting.set(chatId, message)

export function takeFirst(chatId: string): FirstMessage | undefined {
  const message = waiting.get(chatId)
  waiting.delete(chatId)
  return message
}
