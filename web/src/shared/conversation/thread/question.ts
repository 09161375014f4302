import type { Message } from '../queries.ts'
import type { Draft } from './thread.ts'
import type { Messages } from './tree.ts'

type Content = Draft['content']
type Part = Exclude<Content, string>[number]

export const contentOf = ({ content }: Message): Content =>
  content.flatMap((part): Part[] => {
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
