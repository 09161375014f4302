import type { TurnPart } from '../../turn.ts'
import { decodeBlock } from '../anthropic-messages/decode-blocks.ts'
import { isObject, isWord, type Json } from '../json.ts'
import type { Losses } from '../losses.ts'

/**
 * Some clients and frameworks write calls, results and tools as Anthropic has them into chats of OpenAI's shape. What can
 * mean nothing else is read as that; the rest is what it was.
 */
const isUse = (role: unknown, { type, id, name, input }: Json): boolean =>
  type === 'tool_use' && role === 'assistant' && isWord(id) && isWord(name) && isObject(input)

const isResult = (role: unknown, { type, tool_use_id: id, content = null }: Json): boolean =>
  type === 'tool_result' &&
  role === 'user' &&
  isWord(id) &&
  (content === null || typeof content === 'string' || Array.isArray(content))

/** Whether calls or results are written so anywhere: a server of OpenAI's shape refuses them. */
export const hasAnthropicParts = ({ messages }: Json): boolean =>
  Array.isArray(messages) &&
  messages.some(
    (message) =>
      isObject(message) &&
      Array.isArray(message['content']) &&
      message['content'].some(
        (part) => isObject(part) && (isUse(message['role'], part) || isResult(message['role'], part)),
      ),
  )

/** Null: it is nothing of the kind. `inner` reads what stands in a result. */
export function decodeAnthropicPart(
  role: string,
  part: Json,
  at: string,
  losses: Losses,
  inner: (content: unknown, at: string) => TurnPart[],
): TurnPart[] | null {
  if (isUse(role, part)) return decodeBlock(part, at, losses)
  if (!isResult(role, part)) return null
  const { content, ...around } = part
  const [result] = decodeBlock(around, at, losses) ?? []
  return result?.type === 'tool_result' ? [{ ...result, content: inner(content, `${at}.content`) }] : null
}
