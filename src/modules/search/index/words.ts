import { fold, lower, normalize } from './fold.ts'
import { forIndex } from './unspaced.ts'

/**
 * Where words start and end, for the index, the query and the highlights: each run of letters and each run of digits is
 * a word. What people write as one (`ORD-2031-5520`, `jane.roe@example.net`, `v4.5.6`) is found by its words in a row;
 * two neighbors with the signs between them are kept as well, as a *join*, which tells `4.5.6` from `4-5-6`. Pure.
 */
const WORD = /[\p{L}\p{Nl}][\p{L}\p{Nl}\p{M}]*|[\p{Nd}\p{No}]+/gu
/** Signs between, before or behind words that are more than the punctuation of a sentence. */
const MOST_SIGNS = 8
const BEFORE = /[^\s\p{L}\p{N}"'([{“‘«¿¡,;!?]{1,8}$/u
const BEHIND = /^[^\s\p{L}\p{N}]{1,8}/u
const SENTENCE = /[.,;:!?)\]}"'”’»…]+$/u
const APOSTROPHES = /^['’]+$/

export interface Word {
  /** In lower case, without accents. */
  text: string
  /** In lower case, as it was written. */
  written: string
  start: number
  end: number
}

/** Words that stand together without a space. */
export interface Chunk {
  words: Word[]
  joins: string[]
  /** Only apostrophes stand between its words: `don't`. */
  contracted: boolean
}

export const wordsIn = (text: string): Word[] =>
  Array.from(text.matchAll(WORD), ({ 0: word, index }) => ({
    text: fold(word),
    written: lower(word),
    start: index,
    end: index + word.length,
  }))

export function chunksOf(text: string): Chunk[] {
  const chunks: Chunk[] = []
  let open: { chunk: Chunk; last: Word } | null = null
  const close = (rest: string): void => {
    if (open === null) return
    const behind = (BEHIND.exec(rest)?.[0] ?? '').replace(SENTENCE, '')
    if (behind !== '') open.chunk.joins.push(open.last.text + fold(behind))
  }
  for (const word of wordsIn(text)) {
    const between = text.slice(open?.last.end ?? 0, word.start)
    if (open !== null && between.length <= MOST_SIGNS && !/\s/.test(between)) {
      open.chunk.words.push(word)
      open.chunk.joins.push(open.last.text + fold(between) + word.text)
      open.chunk.contracted &&= APOSTROPHES.test(between)
      open.last = word
      continue
    }
    close(text.slice(open?.last.end ?? 0, (open?.last.end ?? 0) + MOST_SIGNS))
    const before = BEFORE.exec(text.slice(Math.max(0, word.start - MOST_SIGNS), word.start))?.[0] ?? ''
    const chunk: Chunk = { words: [word], joins: before === '' ? [] : [fold(before) + word.text], contracted: true }
    chunks.push(chunk)
    open = { chunk, last: word }
  }
  close(text.slice(open?.last.end ?? 0, (open?.last.end ?? 0) + MOST_SIGNS))
  return chunks
}

/** A text as the index takes it. */
export interface Indexed {
  /** Its words, for the stemmer. */
  words: string
  /** Words as they are written with accents, for the stemmer. */
  accented: string
  /** Lexemes of their own, as a literal of a tsvector: joins, words of chunks, words that occur with accents only. */
  lexemes: string
}

/** A row of the index may hold 1 MiB (PostgreSQL's tsvector); so much of it is for what stands beside its words. */
const MOST_BYTES = 150_000
const MOST_LEXEME = 200

/** What tells that a word occurs with accents only: the plain spelling ranks before it. */
export const accentedOnly = (word: string): string => `≈${word}`

export const literalOf = (lexeme: string): string => `'${lexeme.replace(/['\\]/g, '$&$&')}'`

/** The texts of one row: their words apart, all else together. */
export function indexed(texts: readonly string[]): { words: string[]; accented: string; lexemes: string } {
  const plain = new Set<string>()
  const accented = new Map<string, string>()
  const own = new Set<string>()
  let left = MOST_BYTES
  const add = (lexeme: string): void => {
    if (lexeme.length > MOST_LEXEME || own.has(lexeme)) return
    left -= Buffer.byteLength(lexeme) + 8
    if (left > 0) own.add(lexeme)
  }
  const words = texts.map((text) => {
    const all: string[] = []
    for (const chunk of chunksOf(forIndex(normalize(text)))) {
      for (const word of chunk.words) {
        all.push(word.text)
        if (word.text === word.written) plain.add(word.text)
        else accented.set(word.written, word.text)
        if (chunk.words.length > 1) add(word.text)
      }
      for (const join of chunk.joins) add(join)
    }
    return all.join(' ')
  })
  for (const word of accented.values()) if (!plain.has(word)) add(accentedOnly(word))
  return { words, accented: [...accented.keys()].join(' '), lexemes: [...own].map(literalOf).join(' ') }
}
