import { fold, lower, normalize } from './fold.ts'
import { forIndex } from './unspaced.ts'

/**
 * Word boundaries for index, query and highlights: each run of letters or digits is a word. Compounds (`ORD-2031-5520`,
 * `jane.roe@example.net`, `v4.5.6`) match as consecutive words.
 * Two neighbors with the signs between them are also stored as a *join*, which distinguishes `4.5.6` from `4-5-6`.
 */
const WORD = /[\p{L}\p{Nl}][\p{L}\p{Nl}\p{M}]*|[\p{Nd}\p{No}]+/gu
/** Signs around words, other than sentence punctuation. */
const MAX_SIGNS = 8
const BEFORE = /[^\s\p{L}\p{N}"'([{“‘«¿¡,;!?]{1,8}$/u
const BEHIND = /^[^\s\p{L}\p{N}]{1,8}/u
const SENTENCE = /[.,;:!?)\]}"'”’»…]+$/u
const APOSTROPHES = /^['’]+$/

export interface Word {
  text: string
  written: string
  start: number
  end: number
}

/** Words without a space between them. */
export interface Chunk {
  words: Word[]
  joins: string[]
  /** Joined only by apostrophes: `don't`. */
  contracted: boolean
  /** Continues the previous chunk, which was split because of its length. */
  continued?: boolean
}

/** Longer chunks are split, so that `indexed` can pause inside them. */
const MAX_WORDS = 1_000

/** Lazy: if all words of a long text were kept, the garbage collector would have to copy megabytes. */
export function* wordsIn(text: string): Generator<Word, void, undefined> {
  for (const { 0: word, index } of text.matchAll(WORD))
    yield { text: fold(word), written: lower(word), start: index, end: index + word.length }
}

const FIRST_WORD = new RegExp(WORD.source, 'u')

export function firstWordIn(text: string): string | undefined {
  const word = FIRST_WORD.exec(text)?.[0]
  return word === undefined ? undefined : fold(word)
}

export function* chunksOf(text: string): Generator<Chunk, void, undefined> {
  let open: { chunk: Chunk; last: Word } | null = null
  const close = (rest: string): void => {
    if (open === null) return
    const behind = (BEHIND.exec(rest)?.[0] ?? '').replace(SENTENCE, '')
    if (behind !== '') open.chunk.joins.push(open.last.text + fold(behind))
  }
  for (const word of wordsIn(text)) {
    const between = text.slice(open?.last.end ?? 0, word.start)
    if (open !== null && between.length <= MAX_SIGNS && !/\s/.test(between)) {
      const contracted: boolean = open.chunk.contracted && APOSTROPHES.test(between)
      const join: string = open.last.text + fold(between) + word.text
      if (open.chunk.words.length >= MAX_WORDS) {
        yield open.chunk
        open = { chunk: { words: [], joins: [], contracted, continued: true }, last: word }
      }
      open.chunk.words.push(word)
      open.chunk.joins.push(join)
      open.chunk.contracted = contracted
      open.last = word
      continue
    }
    close(text.slice(open?.last.end ?? 0, (open?.last.end ?? 0) + MAX_SIGNS))
    if (open !== null) yield open.chunk
    const signsBefore = BEFORE.exec(text.slice(Math.max(0, word.start - MAX_SIGNS), word.start))?.[0] ?? ''
    const chunk: Chunk = {
      words: [word],
      joins: signsBefore === '' ? [] : [fold(signsBefore) + word.text],
      contracted: true,
    }
    open = { chunk, last: word }
  }
  close(text.slice(open?.last.end ?? 0, (open?.last.end ?? 0) + MAX_SIGNS))
  if (open !== null) yield open.chunk
}

export interface IndexedText {
  words: string
  accented: string
  /**
   * Unstemmed lexemes as a tsvector literal: joins, words of chunks, and marks for words that occur only with accents.
   */
  lexemes: string
}

/** PostgreSQL limits a tsvector to 1 MiB. This part is for extra lexemes. */
const MAX_BYTES = 150_000
const MAX_LEXEME = 200

/** Marks a word that occurs only with accents, so that the plain spelling ranks first. */
export const accentedOnly = (word: string): string => `≈${word}`

export const literalOf = (lexeme: string): string => `'${lexeme.replace(/['\\]/g, '$&$&')}'`

const STRIDE = 3_000

/**
 * Splits one row's texts into words per text and shared extra lexemes. Yields regularly, so that its caller can let
 * other work run.
 */
export function* indexed(
  texts: readonly string[],
): Generator<void, { words: string[]; accented: string; lexemes: string }, undefined> {
  const plainWords = new Set<string>()
  const accented = new Map<string, string>()
  const ownLexemes = new Set<string>()
  let remainingBytes = MAX_BYTES
  const add = (lexeme: string): void => {
    if (lexeme.length > MAX_LEXEME || ownLexemes.has(lexeme)) return
    remainingBytes -= Buffer.byteLength(lexeme) + 8
    if (remainingBytes > 0) ownLexemes.add(lexeme)
  }
  const words: string[] = []
  let count = 0
  for (const text of texts) {
    const all: string[] = []
    for (const chunk of chunksOf(forIndex(normalize(text)))) {
      if ((count += chunk.words.length) >= STRIDE) {
        count = 0
        yield
      }
      for (const word of chunk.words) {
        all.push(word.text)
        if (word.text === word.written) plainWords.add(word.text)
        else accented.set(word.written, word.text)
        if (chunk.words.length > 1 || chunk.continued) add(word.text)
      }
      for (const join of chunk.joins) add(join)
    }
    words.push(all.join(' '))
  }
  for (const word of accented.values()) if (!plainWords.has(word)) add(accentedOnly(word))
  return { words, accented: [...accented.keys()].join(' '), lexemes: [...ownLexemes].map(literalOf).join(' ') }
}
