import type { GrepRow } from '../queries.ts'

export const globFor = (words: string): string => `*${words.replaceAll(/[\\*?[\]{}!]/g, '\\$&').replaceAll('/', '*')}*`

export function byFile(rows: readonly GrepRow[]): { fileId: string; path: string; lines: GrepRow[] }[] {
  const files = new Map<string, { fileId: string; path: string; lines: GrepRow[] }>()
  for (const row of rows) {
    const file = files.get(row.file_id) ?? { fileId: row.file_id, path: row.path, lines: [] }
    file.lines.push(row)
    files.set(row.file_id, file)
  }
  return [...files.values()]
}

/** Characters shown before the first match. */
const SHOWN = 400
const BEFORE = 60

/** Splits a line into matches and the rest. Case matters only if the query has a capital letter. */
export function piecesOf(line: string, words: string | null): { text: string; hit: boolean }[] {
  const fold = words !== null && !/\p{Lu}/u.test(words)
  const folded = fold ? line.toLowerCase() : line
  const first = words === null ? -1 : folded.indexOf(words)
  const from = first > SHOWN ? first - BEFORE : 0
  const end = Math.min(line.length, from + SHOWN)
  // A letter whose lowercase form is longer would shift the offsets.
  if (words === null || words === '' || folded.length !== line.length)
    return [{ text: line.slice(from, end), hit: false }]
  const pieces: { text: string; hit: boolean }[] = []
  let at = from
  for (let hit = folded.indexOf(words, at); hit !== -1 && hit < end; hit = folded.indexOf(words, at)) {
    if (hit > at) pieces.push({ text: line.slice(at, hit), hit: false })
    pieces.push({ text: line.slice(hit, hit + words.length), hit: true })
    at = hit + words.length
  }
  if (at < end) pieces.push({ text: line.slice(at, end), hit: false })
  return pieces
}
