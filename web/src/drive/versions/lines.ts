import { structuredPatch } from 'diff'

export type Line = { is: 'same' | 'added' | 'removed'; text: string; before: number | null; after: number | null }
export interface Hunk {
  lines: Line[]
  at: number
}

/** The edit limit: larger diffs are slow and not useful. */
const MAX_EDITS = 4_000
const MAX_MS = 1_500

/** The line diff of two texts with three context lines. Null: they are too different. */
export function hunksOf(before: string, after: string): Hunk[] | null {
  const patch = structuredPatch('', '', before, after, '', '', {
    context: 3,
    maxEditLength: MAX_EDITS,
    timeout: MAX_MS,
  })
  if (!patch) return null
  return patch.hunks.map(({ oldStart, newStart, lines }) => {
    let old = oldStart
    let now = newStart
    const said = lines.flatMap((line): Line[] => {
      const text = line.slice(1)
      // `\ No newline at end of file` refers to the previous line.
      if (line.startsWith('\\')) return []
      if (line.startsWith('+')) return [{ is: 'added', text, before: null, after: now++ }]
      if (line.startsWith('-')) return [{ is: 'removed', text, before: old++, after: null }]
      return [{ is: 'same', text, before: old++, after: now++ }]
    })
    return { lines: said, at: newStart }
  })
}
