import { characterStart } from '#kernel/text/shorten.ts'
import { isUnspaced, unspacedSpans } from '../index/unspaced.ts'

/** The part of a text that shows best why it was found, and where the words stand in it. Pure. */
export interface Span {
  start: number
  end: number
}

const SNIPPET = 300
const BEFORE = 60
const MOST_SPANS = 20
/** The number of places of one word in one text that are weighed. */
const MOST_PLACES = 200

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

/** The part of a text that holds most of the words, and of several such the first. */
export function snippetOf(
  body: string,
  stems: readonly string[],
  prefix: string | null,
): { snippet: string; spans: Span[] } {
  const first = bestPlace(body, stems, prefix)
  const start = first <= BEFORE ? 0 : characterStart(body, edge(body, first - BEFORE))
  const end = characterStart(body, edge(body, start + SNIPPET))
  const snippet = body.slice(start, end).toWellFormed()
  return { snippet, spans: spansOf(snippet, stems, prefix).filter((span) => span.end <= snippet.length) }
}

/** The place of the snippet-sized window that holds the most kinds of the words; 0 where none is found. */
function bestPlace(body: string, stems: readonly string[], prefix: string | null): number {
  const lower = body.toLowerCase()
  // A case that changes the length of a text would shift the places: there the words are looked for as they are.
  const text = lower.length === body.length ? lower : body
  const places = [...stems, ...(prefix === null ? [] : [prefix])]
    .flatMap((stem, kind) => placesOf(text, stem, stem === prefix).map((at) => ({ at, kind })))
    .toSorted((a, b) => a.at - b.at)
  let best = { at: 0, kinds: 0, words: 0 }
  let from = 0
  const inside = new Map<number, number>()
  for (const { at, kind } of places) {
    inside.set(kind, (inside.get(kind) ?? 0) + 1)
    for (; places[from]!.at < at - (SNIPPET - BEFORE * 2); from++) {
      const left = places[from]!.kind
      const count = inside.get(left)! - 1
      if (count === 0) inside.delete(left)
      else inside.set(left, count)
    }
    const words = [...inside.values()].reduce((sum, count) => sum + count, 0)
    if (inside.size > best.kinds || (inside.size === best.kinds && words > best.words))
      best = { at: places[from]!.at, kinds: inside.size, words }
  }
  return best.at
}

/** The places where forms of a stem begin, the first of them. */
function placesOf(text: string, stem: string, isPrefix: boolean): number[] {
  const unspaced = isUnspaced(stem)
  const sought = !unspaced && stem.endsWith('i') ? stem.slice(0, -1) : stem
  const places: number[] = []
  if (sought === '') return places
  for (let at = text.indexOf(sought); at >= 0 && places.length < MOST_PLACES; at = text.indexOf(sought, at + 1)) {
    if (unspaced) places.push(at)
    else {
      const inWord = at > 0 && /[\p{L}\p{M}\p{N}]/u.test(text[at - 1]!)
      const word = /^[\p{L}\p{M}\p{N}]+/u.exec(text.slice(at, at + sought.length + 40))?.[0] ?? ''
      if (!inWord && (isPrefix || isForm(word, stem))) places.push(at)
    }
  }
  return places
}

/** The next beginning of a word at or behind a place, if it is near. */
function edge(text: string, at: number): number {
  if (at >= text.length) return text.length
  const near = text.slice(at, at + 30).search(/\s/)
  return near < 0 ? at : at + near + 1
}
