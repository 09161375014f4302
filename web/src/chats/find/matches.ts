import type { Message } from '../queries.ts'

/** The words of a message that its reader can see without opening anything. */
const textOf = ({ content }: Message): string =>
  content.map((part) => (part.type === 'text' ? part.text : part.type === 'compaction' ? part.summary : '')).join('\n')

/** The places of the rows that have these words, the newest first. Capital letters make no difference. */
export function matchesIn(rows: readonly Message[], words: string): number[] {
  const wanted = words.trim().toLowerCase()
  if (wanted === '') return []
  const found: number[] = []
  for (let at = rows.length - 1; at >= 0; at--) if (textOf(rows[at]!).toLowerCase().includes(wanted)) found.push(at)
  return found
}
