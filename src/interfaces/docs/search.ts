import { shorten } from '#core/text/shorten.ts'
/** A search entry: a page or a section of one. */
export interface Entry {
  path: string
  title: string
  /** Its section, such as `Drive` or `Guides`. */
  place: string
  /** Further names with the weight of a title: `POST /drive/files`, `uk drive upload`. */
  names: string
  text: string
}
export type Found = Pick<Entry, 'path' | 'title' | 'place'> & { excerpt: string }

export type Search = (query: string, most?: number) => Found[]

const IN_TITLE = 12
const IN_NAMES = 6
/** Boost for entries whose names contain the whole query. */
const EXACT_NAME = 3

const wordsOf = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []

/**
 * An in-memory index of words and prefixes. Title matches rank above text matches, and rare words above common ones.
 * Entries must contain every word of the query; if none does, those with the most words match.
 */
export function createSearch(entries: readonly Entry[]): Search {
  const weights = new Map<string, Map<number, number>>()
  entries.forEach((entry, i) => {
    const add = (text: string, weight: number): void => {
      for (const word of wordsOf(text)) {
        const of = weights.get(word) ?? new Map<number, number>()
        weights.set(word, of)
        of.set(i, Math.max(of.get(i) ?? 0, weight) + Math.min(weight, 1) * 0.1)
      }
    }
    // Prefers titles with fewer other words.
    add(entry.title, IN_TITLE * (1 + 1 / wordsOf(entry.title).length))
    add(entry.names, IN_NAMES)
    add(`${entry.place} ${entry.text}`, 1)
  })
  const known = [...weights.keys()].toSorted()
  const names = entries.map((entry) => entry.names.toLowerCase())
  return (query, most = 12) => {
    const asked = [...new Set(wordsOf(query))].slice(0, 12)
    const scores = new Map<number, { words: number; score: number }>()
    for (const word of asked) {
      for (const [i, score] of scoresOf(word, weights, known, entries.length)) {
        const before = scores.get(i) ?? { words: 0, score: 0 }
        scores.set(i, { words: before.words + 1, score: before.score + score })
      }
    }
    const typed = query.trim().toLowerCase()
    const isName = /\/|_|^uk /.test(typed)
    const scoreOf = (i: number, score: number): number =>
      isName && names[i]!.includes(typed) ? score * EXACT_NAME : score
    return [...scores]
      .toSorted(([i, a], [j, b]) => b.words - a.words || scoreOf(j, b.score) - scoreOf(i, a.score))
      .filter(([, { words }], _, [first]) => words === first![1].words)
      .slice(0, most)
      .map(([i]) => {
        const { path, title, place, text } = entries[i]!
        return { path, title, place, excerpt: excerptOf(text, asked) }
      })
  }
}

/** Entries with this word or prefix. */
function scoresOf(
  word: string,
  weights: ReadonlyMap<string, ReadonlyMap<number, number>>,
  known: readonly string[],
  size: number,
): Map<number, number> {
  const scores = new Map<number, number>()
  for (let at = firstFrom(known, word); at < known.length && known[at]!.startsWith(word); at++) {
    const of = weights.get(known[at]!)!
    const rare = Math.log(1 + size / of.size) * (known[at] === word ? 1 : 0.6)
    for (const [i, weight] of of) scores.set(i, Math.max(scores.get(i) ?? 0, weight * rare))
  }
  return scores
}

/** Binary search for a word's position. */
function firstFrom(sorted: readonly string[], word: string): number {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (sorted[middle]! < word) low = middle + 1
    else high = middle
  }
  return low
}

const EXCERPT = 160

/** Excerpt around the first match. */
function excerptOf(text: string, asked: readonly string[]): string {
  const flat = text.replaceAll(/\s+/g, ' ').trim()
  const lower = flat.toLowerCase()
  const hits = asked.map((word) => lower.indexOf(word)).filter((at) => at >= 0)
  const from = Math.max(0, Math.min(...hits, flat.length) - 60)
  const start = hits.length === 0 || from === 0 ? 0 : flat.indexOf(' ', from) + 1
  const cut = shorten(flat.slice(start), EXCERPT)
  return `${start > 0 ? '… ' : ''}${cut}${start + EXCERPT < flat.length ? ' …' : ''}`
}
