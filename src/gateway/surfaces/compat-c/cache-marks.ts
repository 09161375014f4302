import { type Body, withField, without } from '../../model/body.ts'
import { isObject, type Json, listOf } from '../../model/json.ts'
import type { CacheMarkSupport } from '../../providers/supports.ts'

/** Whether a chat has marks for a cache: it, a tool, a message or a part of one. */
export const isMarked = (chat: Json): boolean =>
  hasOuterMark(chat) ||
  listOf(chat['messages']).some((message) => isObject(message) && listOf(message['content']).some(hasMark))

/** Whether there is a mark where OpenAI has no word for it: on the chat, a tool or a whole message. */
export const hasOuterMark = (chat: Json): boolean =>
  hasMark(chat) || listOf(chat['tools']).some(hasMark) || listOf(chat['messages']).some(hasMark)

const hasMark = (one: unknown): boolean => isObject(one) && one['cache_control'] !== undefined

/** Cache marks in OpenAI's own word for them, which has no life of a mark (compat.md 4.1), or in none. */
export function withMarks(body: Body, marks: CacheMarkSupport): Body {
  const { messages, tools } = body.json
  if (marks === 'kept') return body
  const unmarked = ({ cache_control: mark, ...rest }: Json): Json =>
    marks === 'breakpoints' && isObject(mark) && rest['type'] !== 'function'
      ? { ...rest, prompt_cache_breakpoint: { mode: 'explicit' } }
      : rest
  const each = (list: unknown): unknown =>
    Array.isArray(list) ? list.map((one) => (isObject(one) ? unmarked(one) : one)) : list
  let sent = body.json['cache_control'] === undefined ? body : without(body, new Set(['cache_control']))
  if (Array.isArray(tools)) sent = withField(sent, 'tools', each(tools))
  if (!Array.isArray(messages)) return sent
  const plain = messages.map((one) => {
    if (!isObject(one)) return one
    const { cache_control: _, ...message } = one
    return { ...message, content: each(message['content']) }
  })
  return withField(sent, 'messages', plain)
}
