import { isUnspaced, unspacedSpans } from '../index/unspaced.ts'

/** The part of a text that shows best why it was found, and where the words stand in it. Pure. */
export interface Span {
  start: number
  end: number
}

const SNIPPET = 300
const BEFORE = 60
const MOST_SPANS = 20
const MOST_READ = 20_000

/** Words of the text that are forms of one of these stems. */
export function spansOf(text: string, stems: readonly string[], prefix: string | null): Span[] {
  const spans: Span[] = unspacedSpans(text, stems).slice(0, MOST_SPANS)
  const spaced = stems.filter((stem) => !isUnspaced(stem))
  for (const { 0: word, index } of text.matchAll(/[\p{L}\p{M}\p{N}]+/gu)) {
    const lower = word.toLowerCase()
    if ((prefix !== null && lower.startsWith(prefix)) || spaced.some((stem) => isForm(lower, stem))) {
      spans.push({ start: index, end: index + word.length })
      if (spans.length >= MOST_SPANS) break
    }
  }
  return spans.toSorted((a, b) => a.start - b.start)
}

/** `running`, `runs` of `run`; `study` of `studi`: English endings are few and short. */
const isForm = (word: string, stem: string): boolean =>
  word === stem ||
  (word.startsWith(stem) && word.length - stem.length <= 4) ||
  (stem.endsWith('i') && word === `${stem.slice(0, -1)}y`)

export function snippetOf(
  body: string,
  stems: readonly string[],
  prefix: string | null,
): { snippet: string; spans: Span[] } {
  const read = body.length > MOST_READ ? body.slice(0, MOST_READ) : body
  let spans = spansOf(read, stems, prefix)
  let base = read
  let offset = 0
  if (spans.length === 0 && body.length > MOST_READ) {
    // Far behind: the first place where a stem stands is near enough.
    const lower = body.toLowerCase()
    const at = stems.map((stem) => lower.indexOf(stem)).filter((place) => place >= 0)
    if (at.length > 0) {
      offset = Math.max(0, Math.min(...at) - BEFORE * 2)
      base = body.slice(offset, offset + SNIPPET * 4)
      spans = spansOf(base, stems, prefix)
    }
  }
  const first = spans[0]?.start ?? 0
  const start = first <= BEFORE ? 0 : edge(base, first - BEFORE)
  const end = Math.min(base.length, edge(base, start + SNIPPET))
  const snippet = base.slice(start, end)
  const inside = spans
    .filter((span) => span.start >= start && span.end <= end)
    .map((span) => ({ start: span.start - start, end: span.end - start }))
  return { snippet: snippet.toWellFormed(), spans: inside }
}

/** The next beginning of a word at or behind a place, if it is near. */
function edge(text: string, at: number): number {
  if (at >= text.length) return text.length
  const near = text.slice(at, at + 30).search(/\s/)
  return near < 0 ? at : at + near + 1
}
