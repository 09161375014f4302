import { type Body, withField, without } from '../../model/body.ts'
import { isObject, type Json } from '../../model/json.ts'
import type { Marks } from '../../providers/supports.ts'

/** Cache marks in OpenAI's own word for them, which has no life of a mark (compat.md 4.1), or in none. */
export function withMarks(body: Body, marks: Marks): Body {
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
  const plain = messages.map((one) => (isObject(one) ? { ...one, content: each(one['content']) } : one))
  return withField(sent, 'messages', plain)
}
