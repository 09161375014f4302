import { type Body, withField, without } from '../../model/body.ts'
import { isObject, type Json, listOf } from '../../model/json.ts'
import type { CacheMarkSupport } from '../../providers/supports.ts'

export const isMarked = (chat: Json): boolean =>
  hasOuterMark(chat) ||
  listOf(chat['messages']).some((message) => isObject(message) && listOf(message['content']).some(hasMark))

/** OpenAI has no field for marks on the chat, a tool, or a whole message. */
export const hasOuterMark = (chat: Json): boolean =>
  hasMark(chat) || listOf(chat['tools']).some(hasMark) || listOf(chat['messages']).some(hasMark)

const hasMark = (one: unknown): boolean => isObject(one) && one['cache_control'] !== undefined

/** OpenAI's field has no TTL (compat.md 4.1). */
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
