import type { uk } from '../api.ts'
import type { IconName } from '../../ui/icons.tsx'

export type Hit = Awaited<ReturnType<typeof uk.search.query>>['rows'][number]
export type HitType = Hit['type']

/** The result types in the order of their filters. `file` includes notes. */
export const types: readonly { type: HitType; label: string; one: string; icon: IconName }[] = [
  { type: 'chat', label: 'Chats', one: 'Chat', icon: 'chat' },
  { type: 'message', label: 'Messages', one: 'Message', icon: 'chat' },
  { type: 'file', label: 'Files', one: 'File', icon: 'file' },
  { type: 'note', label: 'Notes', one: 'Note', icon: 'file' },
  { type: 'repository', label: 'Repositories', one: 'Repository', icon: 'file' },
  { type: 'agent', label: 'Agents', one: 'Agent', icon: 'agent' },
  { type: 'computer', label: 'Computers', one: 'Computer', icon: 'computer' },
]
export const aboutType = (type: HitType) => types.find((one) => one.type === type)!

/** The page of a result, below `/app`. */
export function pathOf({ type, id, parent_id }: Pick<Hit, 'type' | 'id' | 'parent_id'>): string {
  if (type === 'message') return `/chats/${parent_id ?? id}`
  if (type === 'chat') return `/chats/${id}`
  if (type === 'agent') return `/agents/${id}`
  if (type === 'computer') return `/computers/${id}`
  return `/drive/file/${id}`
}

export interface Piece {
  text: string
  found: boolean
}

/** Splits a text into matches and the rest. Ignores out-of-range and overlapping offsets. */
export function piecesOf(text: string, { highlights }: Pick<Hit, 'highlights'>, of: 'title' | 'snippet'): Piece[] {
  const pieces: Piece[] = []
  let at = 0
  for (const { field, start, end } of highlights.toSorted((a, b) => a.start - b.start)) {
    if (field !== of || start < at || end > text.length || end <= start) continue
    if (start > at) pieces.push({ text: text.slice(at, start), found: false })
    pieces.push({ text: text.slice(start, end), found: true })
    at = end
  }
  if (at < text.length) pieces.push({ text: text.slice(at), found: false })
  return pieces
}
