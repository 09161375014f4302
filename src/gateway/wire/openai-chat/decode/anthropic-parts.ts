import type { CanonicalPart } from '../../../model/canonical-request.ts'
import { decodeBlock } from '../../anthropic-messages/decode/blocks.ts'
import { isObject, isWord, type Json } from '../../../model/json.ts'
import type { Losses } from '../../shared/losses.ts'

export const RESULT = 'result'

export const partTypes = ['tool_use', 'tool_result', 'image', 'document', 'search_result'] as const

/** Some clients and frameworks write Anthropic's parts into OpenAI chats. Only unambiguous ones are read that way. */
function isAnthropicPart(role: unknown, part: Json): boolean {
  switch (part['type'] as (typeof partTypes)[number]) {
    case 'tool_use':
      return role === 'assistant' && isWord(part['id']) && isWord(part['name']) && isObject(part['input'])
    case 'tool_result':
      return role === 'user' && isWord(part['tool_use_id']) && isContent(part['content'] ?? '')
    case 'image':
      return isGiven(role) && isObject(part['source']) && isSource(part['source'])
    case 'document':
      return isGiven(role) && isObject(part['source']) && (isSource(part['source']) || isText(part['source']))
    case 'search_result':
      return isGiven(role) && isWord(part['source']) && isWord(part['title']) && Array.isArray(part['content'])
    default:
      return false
  }
}

const isGiven = (role: unknown): boolean => role === 'user' || role === 'tool' || role === RESULT

const isContent = (content: unknown): boolean => typeof content === 'string' || Array.isArray(content)

const isSource = ({ type, url, media_type: kind, data }: Json): boolean =>
  (type === 'base64' && isWord(kind) && isWord(data)) || (type === 'url' && isWord(url))

const isText = ({ type, data, content }: Json): boolean =>
  (type === 'text' && typeof data === 'string') || (type === 'content' && isContent(content))

/**
 * Reasoning with Anthropic's seal, or ours for its clients. Alone it doesn't make a chat mixed: a translation to
 * another server would lose it, and in the client's own bytes it reaches servers that understand it.
 */
const isThought = (role: unknown, { type, thinking, signature, data }: Json): boolean =>
  role === 'assistant' &&
  ((type === 'thinking' && typeof thinking === 'string' && isWord(signature)) ||
    (type === 'redacted_thinking' && isWord(data)))

export function hasAnthropicParts({ messages }: Json): boolean {
  if (!Array.isArray(messages)) return false
  for (const message of messages) {
    if (!isObject(message) || !Array.isArray(message['content'])) continue
    if (wholeResult(message) !== null) return true
    for (const part of message['content']) if (isObject(part) && isAnthropicPart(message['role'], part)) return true
  }
  return false
}

/** The message must consist only of its result in Anthropic's format. */
export function wholeResult({ role, tool_call_id: id, content }: Json): Json | null {
  if (role !== 'tool' || !Array.isArray(content) || content.length !== 1) return null
  const part: unknown = content[0]
  if (!isObject(part) || part['type'] !== 'tool_result' || part['tool_use_id'] !== id) return null
  return isAnthropicPart('user', part) ? part : null
}

/** Null for other parts. `inner` reads the parts of a result. */
export function decodeAnthropicPart(
  role: string,
  part: Json,
  at: string,
  losses: Losses,
  inner: (content: unknown, at: string) => CanonicalPart[],
): CanonicalPart[] | null {
  if (!isAnthropicPart(role, part) && !isThought(role, part)) return null
  if (part['type'] !== 'tool_result') return decodeBlock(part, at, losses)
  const { content, ...around } = part
  const [result] = decodeBlock(around, at, losses) ?? []
  return result?.type === 'tool_result' ? [{ ...result, content: inner(content, `${at}.content`) }] : null
}
