import type { WrittenMessage } from '../../shared/conversation/written.ts'
import type { Draft } from '../../shared/conversation/thread/thread.ts'

type Content = Draft['content']
type Part = Exclude<Content, string>[number]

export function contentOf({ text, files }: WrittenMessage): Content {
  const parts = files.flatMap(({ state, isPicture, name }): Part[] => {
    if (state.is !== 'there') return []
    const { source } = state
    return [isPicture ? { type: 'image', source } : { type: 'file', source, name }]
  })
  if (parts.length === 0) return text
  return [...(text.trim() === '' ? [] : [{ type: 'text' as const, text }]), ...parts]
}
