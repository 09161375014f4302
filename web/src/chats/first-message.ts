import type { Written } from './composer/composer.tsx'

/** A message that was written before its chat was made, on its way to the page of that chat. */
export type FirstMessage = Written & { model: string | null }

const waiting = new Map<string, FirstMessage>()

export const keepFirst = (chatId: string, message: FirstMessage): void => void waiting.set(chatId, message)

export function takeFirst(chatId: string): FirstMessage | undefined {
  const message = waiting.get(chatId)
  waiting.delete(chatId)
  return message
}
