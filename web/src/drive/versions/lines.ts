import { structuredPatch } from 'diff'

export type Line = { is: 'same' | 'added' | 'removed'; text: string; before: number | null; after: number | null }
export interface Hunk {
  lines: Line[]
  /** The number of its first line, of the later text. */
  at: number
}

/** Beyond so many edits a difference says nothing to a reader, and takes long to find. */
const MOST_EDITS = 4_000
const MOST_MS = 1_500

/** The differences of two texts by lines, with three lines around each. Null: they have too little in common. */
export function hunksOf(before: string, after: string): Hunk[] | null {
  const patch = structuredPatch('', '', before, after, '', '', {
    context: 3,
    maxEditLength: MOST_EDITS,
    timeout: MOST_MS,
  })
  if (!patch) return null
  return patch.hunks.map(({ oldStart, newStart, lines }) => {
    let old = oldStart
    let now = newStart
    const said = lines.flatMap((line): Line[] => {
      const text = line.slice(1)
      // `\ No newline at end of file` is about the line before it.
      if (line.startsWith('\\')) return []
      if (line.startsWith('+')) return [{ is: 'added', text, before: null, after: now++ }]
      if (line.startsWith('-')) return [{ is: 'removed', text, before: old++, after: null }]
      return [{ is: 'same', text, before: old++, after: now++ }]
    })
    return { lines: said, at: newStart }
  })
}
