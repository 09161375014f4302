import type { CanonicalMessage } from '../../model/canonical-request.ts'

/** Adds the instruction to go on, for a model that does not go on with words put into its mouth: it would begin anew, and its client glue both together. */
export function askToGoOn(messages: CanonicalMessage[]): CanonicalMessage[] {
  const last = messages.at(-1)
  if (last?.role !== 'assistant' || last.content.some(({ type }) => type === 'tool_call')) return messages
  const text = 'Go on with your last message exactly where it ends. Repeat nothing of it and put nothing in front.'
  return [...messages, { role: 'user', content: [{ type: 'text', text }] }]
}
