import { fold, normalize } from '../index/fold.ts'
import { forQuestion, isUnspaced } from '../index/unspaced.ts'
import { type Chunk, chunksOf } from '../index/words.ts'

export interface Term {
  words: string[]
  written: string[]
  joins: string[]
  /** Can be omitted, because all its words are stop words. */
  idle: boolean
}

/** Matches if any group has all of `all` and none of `none`. */
export interface Words {
  any: { all: Term[]; none: Term[] }[]
  /** The last word, if it may be incomplete. */
  prefix: string | null
  text: string
}

const MIN_PREFIX = 3
const MAX_TERMS = 60

export function wordsOf(question: string): Words {
  const text = forQuestion(normalize(question))
  const any: Words['any'] = [{ all: [], none: [] }]
  let count = 0
  let signs = false
  for (const { 0: token, 1: minus, 2: phrase, 3: word } of text.matchAll(/(-)?"([^"]*)"(?=[\s,.;:!?)]|$)|(\S+)/g)) {
    if (word?.toLowerCase() === 'or') {
      if (any.at(-1)!.all.length > 0) any.push({ all: [], none: [] })
      signs = true
      continue
    }
    const negated = minus !== undefined || (word !== undefined && /^-[^-]/.test(word))
    signs ||= phrase !== undefined || negated
    const chunks = [...chunksOf(phrase ?? (negated ? word!.slice(1) : token))]
    const terms =
      phrase === undefined ? chunks.map((chunk) => termOf([chunk])) : chunks.length > 0 ? [termOf(chunks)] : []
    const group = any.at(-1)!
    for (const term of terms) if (count++ < MAX_TERMS) (negated ? group.none : group.all).push(term)
  }
  const groups = any
    .map(({ all, none }) => (all.length > 0 ? { all, none } : { all: none, none: [] }))
    .filter(({ all }) => all.length > 0)
  if (groups.length === 0)
    groups.push({ all: Array.from(chunksOf(fold(question)), (chunk) => termOf([chunk])), none: [] })
  const last = groups.at(-1)!.all.at(-1)?.words.at(-1)
  const typed = last !== undefined && !signs && last.length >= MIN_PREFIX && !isUnspaced(last)
  return {
    any: groups,
    prefix: typed ? last : null,
    text: groups.flatMap(({ all }) => all.flatMap(({ words }) => words)).join(' '),
  }
}

const termOf = (chunks: readonly Chunk[]): Term => ({
  words: chunks.flatMap(({ words }) => words.map(({ text }) => text)),
  written: chunks.flatMap(({ words }) => words.map(({ written }) => written)),
  joins: chunks.flatMap(({ joins }) => joins),
  idle: chunks.length > 1 || chunks[0]!.contracted,
})
