import type { CanonicalMessage } from '../../model/canonical-request.ts'

/** Some models don't continue a prefilled assistant message: they would start over, and the client joins both texts. */
export function askToGoOn(messages: CanonicalMessage[]): CanonicalMessage[] {
  const last = messages.at(-1)
  if (last?.role !== 'assistant' || last.content.some(({ type }) => type === 'tool_call')) return messages
  const text =
    "Continue your last message exactly where it ends. Don't repeat any of it, and don't put anything in front."
  return [...messages, { role: 'user', content: [{ type: 'text', text }] }]
}
