import { type Json, listOf } from '../../../model/json.ts'
import type { RoleOrder } from '../../shared/quirks.ts'

/** The assistant's words between a tool result and the user's next message. */
const BRIDGE = 'Understood.'

/**
 * Returns the messages in an order of roles that the vendor accepts. A system message that can't follow becomes a tagged user
 * message, and so does one at the end; an assistant message is inserted where a message still can't follow, and one that says
 * nothing is left out.
 */
export function inOrder(messages: readonly Json[], order: RoleOrder | null): Json[] {
  if (order === null) return [...messages]
  const ordered: Json[] = []
  for (const [at, given] of messages.entries()) {
    if (saysNothing(given)) continue
    const before = ordered.at(-1)?.['role'] as keyof RoleOrder | undefined
    const mayFollow = (message: Json): boolean => {
      const following = before === undefined ? undefined : (order[before] as readonly string[] | undefined)
      return following === undefined || following.includes(String(message['role']))
    }
    const isMoved = given['role'] === 'system' && (at === messages.length - 1 || !mayFollow(given))
    const message = isMoved ? asUser(given) : given
    if (!mayFollow(message)) ordered.push({ role: 'assistant', content: BRIDGE })
    ordered.push(message)
  }
  return ordered
}

/** As an answer of pictures alone does, where the vendor takes none back. */
const saysNothing = ({ role, content, tool_calls: calls }: Json): boolean =>
  role === 'assistant' && (content === '' || content === null || content === undefined) && listOf(calls).length === 0

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
