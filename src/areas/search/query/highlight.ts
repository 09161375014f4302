import { characterStart } from '#kernel/text/shorten.ts'
import { foldWithPlaces } from '../index/fold.ts'
import { isUnspaced, unspacedSpans } from '../index/unspaced.ts'
import { wordsIn } from '../index/words.ts'

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
  for (const { text: word, start, end } of wordsIn(text)) {
    if ((prefix !== null && word.startsWith(prefix)) || spaced.some((stem) => isForm(word, stem))) {
      spans.push({ start, end })
      if (spans.length >= MOST_SPANS) break
    }
  }
  return spans.toSorted((a, b) => a.start - b.start)
}

/** `running`, `runs` of `run`; `study` of `studi`: English endings are few and short. */
const isForm = (word: string, stem: string): boolean =>
  word === stem ||
  (word.startsWith(stem) && word.length - stem.length <= 4 && !/\d$/.test(stem)) ||
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
  const { folded, placeOf } = foldWithPlaces(body)
  const places = [...stems, ...(prefix === null ? [] : [prefix])]
    .flatMap((stem, kind) => placesOf(folded, stem, stem === prefix).map((at) => ({ at, kind })))
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
  return placeOf(best.at)
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
      const kind = /^\p{N}/u.test(sought) ? /\p{N}/u : /[\p{L}\p{M}]/u
      const inWord = at > 0 && kind.test(text[at - 1]!)
      const [word] = wordsIn(text.slice(at, at + sought.length + 40)).map((one) => one.text)
      if (word !== undefined && !inWord && (isPrefix || isForm(word, stem))) places.push(at)
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
