import type { Message } from '../queries.ts'

/** The text of a message that is visible without expanding anything. */
const textOf = ({ content }: Message): string =>
  content.map((part) => (part.type === 'text' ? part.text : part.type === 'compaction' ? part.summary : '')).join('\n')

export function matchesIn(rows: readonly Message[], words: string): number[] {
  const query = words.trim().toLowerCase()
  if (query === '') return []
  const matches: number[] = []
  for (let at = rows.length - 1; at >= 0; at--) if (textOf(rows[at]!).toLowerCase().includes(query)) matches.push(at)
  return matches
}
