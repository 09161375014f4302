import { characterStart } from '#core/text/shorten.ts'
import { foldWithPlaces } from '../index/fold.ts'
import { isUnspaced, unspacedSpans } from '../index/unspaced.ts'
import { firstWordIn, wordsIn } from '../index/words.ts'

export interface Span {
  start: number
  end: number
}

const SNIPPET = 300
const BEFORE = 60
const MAX_SPANS = 20
const MAX_PLACES = 200

export function spansOf(text: string, stems: readonly string[], prefix: string | null): Span[] {
  const spans: Span[] = unspacedSpans(text, stems).slice(0, MAX_SPANS)
  const spaced = stems.filter((stem) => !isUnspaced(stem))
  for (const { text: word, start, end } of wordsIn(text)) {
    if ((prefix !== null && word.startsWith(prefix)) || spaced.some((stem) => isForm(word, stem))) {
      spans.push({ start, end })
      if (spans.length >= MAX_SPANS) break
    }
  }
  return spans.toSorted((a, b) => a.start - b.start)
}

/** `running` and `runs` match `run`; `studi` matches `study`. English suffixes are few and short. */
const isForm = (word: string, stem: string): boolean =>
  word === stem ||
  (word.startsWith(stem) && word.length - stem.length <= 4 && !/\d$/.test(stem)) ||
  (stem.endsWith('i') && word === `${stem.slice(0, -1)}y`)

/**
 * Returns the window with most of the words, the first if several. Yields the work until the next pause; the caller
 * lets others run before the sum exceeds 1.
 */
export function* snippetOf(
  body: string,
  stems: readonly string[],
  prefix: string | null,
): Generator<number, { snippet: string; spans: Span[] }, undefined> {
  const first = yield* bestPlace(body, stems, prefix)
  const start = first <= BEFORE ? 0 : characterStart(body, edge(body, first - BEFORE))
  const end = characterStart(body, edge(body, start + SNIPPET))
  const snippet = body.slice(start, end).toWellFormed()
  return { snippet, spans: spansOf(snippet, stems, prefix).filter((span) => span.end <= snippet.length) }
}

interface Place {
  at: number
  kind: number
}

/** Position of the snippet-sized window with the most distinct words; 0 without a match. */
function* bestPlace(
  body: string,
  stems: readonly string[],
  prefix: string | null,
): Generator<number, number, undefined> {
  const searchWords = [...stems, ...(prefix === null ? [] : [prefix])].map((stem) => ({ stem, places: 0 }))
  const places: Place[] = []
  for (const part of partsOf(body)) {
    yield part.work
    for (const [kind, word] of searchWords.entries()) {
      const { found, tries } = placesOf(part, word.stem, word.stem === prefix, MAX_PLACES - word.places)
      word.places += found.length
      for (const at of found) places.push({ at, kind })
      yield tries / TRIES
    }
    if (searchWords.every((word) => word.places >= MAX_PLACES)) break
  }
  return bestOf(places.toSorted((a, b) => a.at - b.at))
}

function bestOf(places: readonly Place[]): number {
  let best = { at: 0, kinds: 0, words: 0 }
  let from = 0
  const inside = new Map<number, number>()
  for (const { at, kind } of places) {
    inside.set(kind, (inside.get(kind) ?? 0) + 1)
    for (; places[from]!.at < at - (SNIPPET - BEFORE * 2); from++) {
      const removedKind = places[from]!.kind
      const count = inside.get(removedKind)! - 1
      if (count === 0) inside.delete(removedKind)
      else inside.set(removedKind, count)
    }
    const words = [...inside.values()].reduce((sum, count) => sum + count, 0)
    if (inside.size > best.kinds || (inside.size === best.kinds && words > best.words))
      best = { at: places[from]!.at, kinds: inside.size, words }
  }
  return best.at
}

const STRIDE = 4_096
const ASCII_FACTOR = 32
const ASCII_STRIDE = 16_384
const TRIES = 2_000
/** Units read around a part, because words can cross its end. */
const MARGIN = 400

interface FoldedPart {
  folded: string
  /** Maps a position in `folded` to the whole text. */
  placeOf: (at: number) => number
  /** The part's range in the whole text. The margins belong to its neighbors. */
  from: number
  end: number
  work: number
}

function* partsOf(body: string): Generator<FoldedPart, void, undefined> {
  const isPlain = !/[\u0080-\uffff]/.test(body)
  const stride = isPlain ? ASCII_STRIDE : STRIDE
  const units = isPlain ? STRIDE * ASCII_FACTOR : STRIDE
  for (let from = 0; from < body.length;) {
    const end = characterStart(body, Math.min(body.length, from + stride))
    const begin = characterStart(body, Math.max(0, from - MARGIN))
    const { folded, placeOf } = foldWithPlaces(body.slice(begin, Math.min(body.length, end + MARGIN)))
    const work = (end - from) / units
    yield { folded, placeOf: (at) => begin + placeOf(at), from, end, work }
    from = end
  }
}

/** Positions of matching words that start in this part, up to `most`. */
function placesOf(
  { folded: text, placeOf, from, end }: FoldedPart,
  stem: string,
  isPrefix: boolean,
  most: number,
): { found: number[]; tries: number } {
  const unspaced = isUnspaced(stem)
  const sought = !unspaced && stem.endsWith('i') ? stem.slice(0, -1) : stem
  const positions: number[] = []
  let tries = 0
  if (sought === '') return { found: positions, tries }
  const inside = /^\p{N}/u.test(sought) ? /\p{N}/u : /[\p{L}\p{M}]/u
  for (let at = text.indexOf(sought); at >= 0 && positions.length < most; at = text.indexOf(sought, at + 1)) {
    tries++
    const place = placeOf(at)
    if (place < from) continue
    if (place >= end) break
    if (unspaced || isFormAt(text, at, sought.length, stem, isPrefix, inside)) positions.push(place)
  }
  return { found: positions, tries }
}

function isFormAt(text: string, at: number, length: number, stem: string, isPrefix: boolean, inside: RegExp): boolean {
  if (at > 0 && inside.test(text[at - 1]!)) return false
  const word = firstWordIn(text.slice(at, at + length + 40))
  return word !== undefined && (isPrefix || isForm(word, stem))
}

function edge(text: string, at: number): number {
  if (at >= text.length) return text.length
  const near = text.slice(at, at + 30).search(/\s/)
  return near < 0 ? at : at + near + 1
}
