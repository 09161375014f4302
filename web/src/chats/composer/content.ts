import type { Written } from '../../shared/conversation/written.ts'
import type { Draft } from '../../shared/conversation/thread/thread.ts'

type Content = Draft['content']
type Given = Exclude<Content, string>[number]

export function contentOf({ text, files }: Written): Content {
  const parts = files.flatMap(({ state, isPicture, name }): Given[] => {
    if (state.is !== 'there') return []
    const { source } = state
    return [isPicture ? { type: 'image', source } : { type: 'file', source, name }]
  })
  if (parts.length === 0) return text
  return [...(text.trim() === '' ? [] : [{ type: 'text' as const, text }]), ...parts]
}
