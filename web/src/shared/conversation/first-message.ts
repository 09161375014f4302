import type { Written } from './written.ts'

export type FirstMessage = Written & { model: string | null }

const waiting = new Map<string, FirstMessage>()

export const keepFirst = (chatId: string, message: FirstMessage): void => void waiting.set(chatId, message)

export function takeFirst(chatId: string): FirstMessage | undefined {
  const message = waiting.get(chatId)
  waiting.delete(chatId)
  return message
}
