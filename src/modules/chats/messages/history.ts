import type { CanonicalMessage, CanonicalPart } from '#gateway/model/canonical-request.ts'
import type { Part } from './parts.ts'

export interface PathMessage {
  role: 'system' | 'user' | 'assistant' | 'tool'
  content: readonly Part[]
}

/**
 * Converts messages for a model. An assistant message holds all steps of its run, so it becomes one message per step:
 * text and calls, then results. Skips empty messages of failed or waiting runs.
 */
export function turnOf(system: string | null, path: readonly PathMessage[]): CanonicalMessage[] {
  const messages: CanonicalMessage[] =
    system === null || system === '' ? [] : [{ role: 'system', content: [{ type: 'text', text: system }] }]
  for (const { role, content } of path) {
    let at: CanonicalMessage | null = null
    for (const part of content) {
      const spoken = partOf(part)
      if (spoken === null) continue
      const as = spoken.type === 'tool_result' ? 'tool' : role
      if (at === null || at.role !== as) messages.push((at = { role: as, content: [] }))
      at.content.push(spoken)
    }
  }
  return withResults(messages)
}

function partOf(part: Part): CanonicalPart | null {
  switch (part.type) {
    case 'text':
      return part.text === '' ? null : part
    case 'tool_call':
      return part
    case 'image':
      return part.source.kind === 'file' ? unread(part.source) : { type: 'image', source: part.source }
    case 'file':
      if (part.source.kind === 'file') return unread(part.source)
      return { type: 'file', source: part.source, ...(part.name !== null && { name: part.name }) }
    case 'reasoning':
      return { type: 'reasoning', text: part.text, ...part.opaque }
    case 'tool_result': {
      const text = typeof part.output === 'string' ? part.output : JSON.stringify(part.output)
      return { type: 'tool_result', id: part.tool_call_id, content: [{ type: 'text', text }], is_error: part.is_error }
    }
    case 'compaction':
      return { type: 'text', text: part.summary }
  }
}

const unread = ({ name }: { name: string }): CanonicalPart => ({ type: 'text', text: `[${name}]` })

/** Providers reject a call without a result, so adds one for calls left open by a stop or a crash. */
function withResults(messages: readonly CanonicalMessage[]): CanonicalMessage[] {
  return messages.flatMap((message, i) => {
    const calls = message.content.filter((part) => part.type === 'tool_call')
    if (message.role !== 'assistant' || calls.length === 0) return [message]
    const next = messages[i + 1]
    const answered = new Set(
      next?.role === 'tool' ? next.content.map((part) => (part.type === 'tool_result' ? part.id : '')) : [],
    )
    const open = calls.filter(({ id }) => !answered.has(id))
    if (open.length === 0) return [message]
    return [
      message,
      {
        role: 'tool' as const,
        content: open.map(({ id }) => ({
          type: 'tool_result' as const,
          id,
          content: [{ type: 'text' as const, text: 'The call was not made.' }],
          is_error: true,
        })),
      },
    ]
  })
}
