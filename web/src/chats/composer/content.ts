import type { Written } from './composer.tsx'
import type { Message } from '../queries.ts'
import type { Draft } from '../thread/thread.ts'
import type { Messages } from '../thread/tree.ts'

type Content = Draft['content']
type Given = Exclude<Content, string>[number]

/** The content of a message for the server. */
export function contentOf({ text, files }: Written): Content {
  const parts = files.flatMap(({ state, isPicture, name }): Given[] => {
    if (state.is !== 'there') return []
    const { source } = state
    return [isPicture ? { type: 'image', source } : { type: 'file', source, name }]
  })
  if (parts.length === 0) return text
  return [...(text.trim() === '' ? [] : [{ type: 'text' as const, text }]), ...parts]
}

export const givenOf = ({ content }: Message): Content =>
  content.flatMap((part): Given[] => {
    if (part.type === 'text') return [part]
    if (part.type !== 'image' && part.type !== 'file') return []
    const source = part.source.kind === 'file' ? { kind: 'file' as const, file_id: part.source.file_id } : part.source
    return [part.type === 'image' ? { type: 'image', source } : { type: 'file', source, name: part.name }]
  })

/** The user message that led to a response, skipping the steps in between. */
export function questionOf(message: Message, messages: Messages): Message | null {
  for (let one: Message | undefined = message; one !== undefined; one = messages.get(one.parent_id ?? ''))
    if (one.role === 'user') return one
  return null
}
