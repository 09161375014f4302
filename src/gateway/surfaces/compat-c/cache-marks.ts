import { type Body, withField, without } from '../../model/body.ts'
import { isObject, type Json, listOf } from '../../model/json.ts'
import type { CacheMarkSupport } from '../../providers/supports.ts'

/** True if a chat, a tool, a message, or a part has a cache mark. */
export const isMarked = (chat: Json): boolean =>
  hasOuterMark(chat) ||
  listOf(chat['messages']).some((message) => isObject(message) && listOf(message['content']).some(hasMark))

/** True if there is a mark where OpenAI has no field for it: on the chat, a tool, or a whole message. */
export const hasOuterMark = (chat: Json): boolean =>
  hasMark(chat) || listOf(chat['tools']).some(hasMark) || listOf(chat['messages']).some(hasMark)

const hasMark = (one: unknown): boolean => isObject(one) && one['cache_control'] !== undefined

/** Converts cache marks to OpenAI's field, which has no TTL (compat.md 4.1), or removes them. */
export function withMarks(body: Body, marks: CacheMarkSupport): Body {
  const { messages, tools } = body.json
  if (marks === 'kept') return body
  const withoutMark = ({ cache_control: mark, ...rest }: Json): Json =>
    marks === 'breakpoints' && isObject(mark) && rest['type'] !== 'function'
      ? { ...rest, prompt_cache_breakpoint: { mode: 'explicit' } }
      : rest
  const each = (list: unknown): unknown =>
    Array.isArray(list) ? list.map((one) => (isObject(one) ? withoutMark(one) : one)) : list
  let sentBody = body.json['cache_control'] === undefined ? body : without(body, new Set(['cache_control']))
  if (Array.isArray(tools)) sentBody = withField(sentBody, 'tools', each(tools))
  if (!Array.isArray(messages)) return sentBody
  const plain = messages.map((one) => {
    if (!isObject(one)) return one
    const { cache_control: _, ...message } = one
    return { ...message, content: each(message['content']) }
  })
  return withField(sentBody, 'messages', plain)
}
