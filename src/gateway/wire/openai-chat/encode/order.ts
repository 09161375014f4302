import type { Json } from '../../../model/json.ts'
import type { RoleOrder } from '../../shared/quirks.ts'

/** The assistant's words between a tool result and the user's next message. */
const BRIDGE = 'Understood.'

/**
 * Returns the messages in an order of roles that the vendor accepts. A system message that can't follow becomes a tagged user
 * message, and an assistant message is inserted where a message still can't follow.
 */
export function inOrder(messages: readonly Json[], order: RoleOrder | null): Json[] {
  if (order === null) return [...messages]
  const ordered: Json[] = []
  for (const given of messages) {
    const before = ordered.at(-1)?.['role'] as keyof RoleOrder | undefined
    const mayFollow = (message: Json): boolean => {
      const following = before === undefined ? undefined : (order[before] as readonly string[] | undefined)
      return following === undefined || following.includes(String(message['role']))
    }
    const message = given['role'] === 'system' && !mayFollow(given) ? asUser(given) : given
    if (!mayFollow(message)) ordered.push({ role: 'assistant', content: BRIDGE })
    ordered.push(message)
  }
  return ordered
}

const tagged = (text: unknown): string => `<system>\n${String(text)}\n</system>`

function asUser({ content, ...message }: Json): Json {
  const words = Array.isArray(content)
    ? content.map((part: unknown) => {
        const one = part as Json
        return one['type'] === 'text' ? { ...one, text: tagged(one['text']) } : one
      })
    : tagged(content)
  return { ...message, role: 'user', content: words }
}
