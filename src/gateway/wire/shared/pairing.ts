import type { CanonicalRequest, CanonicalMessage, CanonicalPart } from '../../model/canonical-request.ts'

type Result = Extract<CanonicalPart, { type: 'tool_result' }>

/**
 * Every vendor wants the results of a message's tool calls right after it, all of them and no others. Results are put
 * in that place; one without its call becomes text of the user, a call without its result gets one that says so.
 * A conversation that ends with calls still open is left so: their results are what it waits for.
 */
export function pairToolResults(messages: CanonicalMessage[]): CanonicalMessage[] {
  const paired: CanonicalMessage[] = []
  for (let at = 0; at < messages.length; at++) {
    const message = messages[at]!
    if (message.role === 'tool') {
      paired.push({ role: 'user', content: message.content.flatMap(orphaned) })
      continue
    }
    paired.push(message)
    const calls = message.content.filter((part) => part.type === 'tool_call')
    if (message.role !== 'assistant' || calls.length === 0) continue
    const answering: CanonicalMessage[] = []
    while (messages[at + 1]?.role === 'tool') answering.push(messages[++at]!)
    const given = answering.flatMap(({ content }) => content)
    if (given.length === 0 && at + 1 === messages.length) continue
    const first = new Map<string, Result>()
    for (const part of given) if (part.type === 'tool_result' && !first.has(part.id)) first.set(part.id, part)
    const answers = calls.map(({ id }) => first.get(id) ?? unanswered(id))
    paired.push({ role: 'tool', content: answers })
    const told = new Set<CanonicalPart>(answers)
    const others = given.filter((part) => !told.has(part))
    if (others.length > 0) paired.push({ role: 'user', content: others.flatMap(orphaned) })
  }
  return paired
}

const unanswered = (id: string): Result => ({
  type: 'tool_result',
  id,
  content: [{ type: 'text', text: 'This call was not carried out.' }],
  is_error: true,
})

const orphaned = (part: CanonicalPart): CanonicalPart[] =>
  part.type === 'tool_result'
    ? [{ type: 'text', text: `Result of the earlier tool call ${part.id}:` }, ...part.content]
    : [part]

/** The tools, and for calls in the history whose tool is no longer among them a bare one: vendors want both or neither. */
export function toolsWithHistory({ tools = [], messages }: CanonicalRequest): NonNullable<CanonicalRequest['tools']> {
  const used = new Set(
    messages.flatMap(({ content }) => content.flatMap((part) => (part.type === 'tool_call' ? [part.name] : []))),
  )
  if (used.size === 0 || tools.length > 0) return tools
  return [...used].map((name) => ({ name, parameters: { type: 'object', properties: {} } }))
}
