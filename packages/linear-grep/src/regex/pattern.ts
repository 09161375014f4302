import { isAscii } from 'node:buffer'
import { RE2JS, RE2JSException } from 're2js'
import { type Automaton, automatonOf } from './automaton.ts'
import { faultOf } from './fault.ts'
import { type GramQuery, gramQuery } from './grams.ts'
import { foldable, literalOf, needOf, wordInAll } from './needs.ts'
import { MAX_STEPS, stepsOf } from './steps.ts'
import { type Node, namesBreak, parsePattern, print } from './syntax.ts'

export interface PatternSpec {
  pattern: string
  /** `smart`: case-sensitive if the pattern has a capital letter (ripgrep's `-S`). */
  case: 'sensitive' | 'insensitive' | 'smart'
  multiline: boolean
  fixed: boolean
}

/**
 * A compiled pattern. All methods are linear in the text: memory search for plain words, a deterministic byte automaton
 * for most patterns, re2js for the rest. JavaScript's RegExp never runs user patterns.
 */
export interface Pattern {
  multiline: boolean
  fold: boolean
  grams: GramQuery
  /** The whole pattern is this word. */
  literal: Buffer | null
  /** Every matching line contains this word. */
  word: Buffer | null
  automaton(bytes: Uint8Array): Automaton | null
  re2: RE2JS
}

export class InvalidPattern extends Error {
  override name = 'InvalidPattern'
}

export const MAX_PATTERN = 1_000

export function compile(spec: PatternSpec): Pattern {
  if (!spec.fixed && stepsOf(spec.pattern) > MAX_STEPS)
    throw new InvalidPattern('The pattern is too large: it has too many repetitions, or classes that are too wide.')
  const source = spec.fixed ? RE2JS.quote(spec.pattern) : spec.pattern
  const regex = compileRegex(source, 0)
  const node = spec.fixed ? wordNode(spec.pattern) : parsePattern(spec.pattern)
  if (!spec.multiline && (node === null ? /\\n|\n/.test(spec.pattern) : namesBreak(node)))
    throw new InvalidPattern('Line breaks can be matched only with `multiline`.')
  const fold = spec.case === 'insensitive' || (spec.case === 'smart' && !hasCapital(node, spec.pattern))
  const flags = RE2JS.MULTILINE | (fold ? RE2JS.CASE_INSENSITIVE : 0)
  const need = node === null ? null : needOf(node)
  const literal = node === null || spec.multiline ? null : literalOf(node)
  const word = spec.multiline ? null : wordInAll(need)
  const exact = (words: string | null): Buffer | null =>
    words === null || words === '' || (fold && !foldable(words)) ? null : Buffer.from(words)
  return {
    multiline: spec.multiline,
    fold,
    grams: gramQuery(need, fold),
    literal: exact(literal),
    word: exact(word),
    automaton: automata(spec.multiline ? null : node, fold),
    re2:
      node === null
        ? flags === 0
          ? regex
          : compileRegex(source, flags)
        : compileRegex(print(node, spec.multiline ? 'across' : 'inLine'), flags),
  }
}

function compileRegex(source: string, flags: number): RE2JS {
  try {
    return RE2JS.compile(source, flags)
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error
    throw new InvalidPattern(`The pattern isn’t a valid regular expression (RE2 syntax): ${faultOf(error)}.`)
  }
}

const wordNode = (words: string): Node => ({
  kind: 'cat',
  of: Array.from(words, (char) => ({ kind: 'char', code: char.codePointAt(0)! })),
})

/**
 * Up to two automata, built on demand: one for ASCII text, where Unicode classes are plain sets, one for other text.
 */
function automata(node: Node | null, fold: boolean): Pattern['automaton'] {
  const automata = new Map<boolean, Automaton | null>()
  return (bytes) => {
    if (node === null) return null
    const ascii = isAscii(bytes)
    if (!automata.has(ascii)) automata.set(ascii, automatonOf(node, fold, ascii))
    return automata.get(ascii)!
  }
}

/** Whether the pattern names a capital letter. A class such as `\W` names none. */
function hasCapital(node: Node | null, pattern: string): boolean {
  if (node === null) return /\p{Lu}/u.test(pattern.replace(/\\(?:[pP]\{[^}]*\}|.)/gu, '')) || !/\p{L}/u.test(pattern)
  let hasNames = false
  let capital = false
  const see = (char: string): void => {
    hasNames = true
    if (/\p{Lu}/u.test(char)) capital = true
  }
  const visit = (one: Node): void => {
    if (one.kind === 'char') see(String.fromCodePoint(one.code))
    else if (one.kind === 'set') {
      // The ends of ranges are what the pattern names.
      for (const [, code] of one.set.across.matchAll(/\\x\{([0-9a-f]+)\}/g))
        if (!one.set.across.includes('\\p{')) see(String.fromCodePoint(Number.parseInt(code!, 16)))
    } else if (one.kind === 'repeat') visit(one.of)
    else if (one.kind !== 'at') one.of.forEach(visit)
  }
  visit(node)
  return capital || !hasNames
}
