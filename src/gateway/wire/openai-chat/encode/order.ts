import { type Json, listOf } from '../../../model/json.ts'
import type { RoleOrder } from '../../shared/quirks.ts'

const BRIDGE = 'Understood.'

/**
 * A system message that can't follow becomes a tagged user message, and so does one at the end. An assistant message is
 * inserted where a message still can't follow, and empty messages are left out.
 */
export function inOrder(messages: readonly Json[], order: RoleOrder | null): Json[] {
  if (order === null) return [...messages]
  const output: Json[] = []
  for (const [at, source] of messages.entries()) {
    if (saysNothing(source)) continue
    const before = output.at(-1)?.['role'] as keyof RoleOrder | undefined
    const mayFollow = (message: Json): boolean => {
      const following = before === undefined ? undefined : (order[before] as readonly string[] | undefined)
      return following === undefined || following.includes(String(message['role']))
    }
    const isMoved = source['role'] === 'system' && (at === messages.length - 1 || !mayFollow(source))
    const message = isMoved ? asUser(source) : source
    if (!mayFollow(message)) output.push({ role: 'assistant', content: BRIDGE })
    output.push(message)
  }
  return output
}

/** For example an answer with only images, for vendors that don't take images back. */
const saysNothing = ({ role, content, tool_calls: calls }: Json): boolean =>
  role === 'assistant' && (content === '' || content === null || content === undefined) && listOf(calls).length === 0

const wrapInTag = (text: unknown): string => `<system>\n${String(text)}\n</system>`

function asUser({ content, ...message }: Json): Json {
  const words = Array.isArray(content)
    ? content.map((part: unknown) => {
        const one = part as Json
        return one['type'] === 'text' ? { ...one, text: wrapInTag(one['text']) } : one
      })
    : wrapInTag(content)
  return { ...message, role: 'user', content: words }
}
