import type { Written } from './composer/composer.tsx'

/** The first message of a new chat, passed to the chat's page. */
export type FirstMessage = Written & { model: string | null }

const waiting = new Map<string, FirstMessage>()

export const keepFirst = (chatId: string, message: FirstMessage): void => void waiting.set(chatId, message)

export function takeFirst(chatId: string): FirstMessage | undefined {
  const message = waiting.get(chatId)
  waiting.delete(chatId)
  return message
}
