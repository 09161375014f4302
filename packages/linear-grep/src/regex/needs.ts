import { variants } from './automaton.ts'
import type { Node } from './syntax.ts'

/**
 * Words a text must contain for a pattern to match: Russ Cox, "Regular Expression Matching with a Trigram Index"
 * (2012), with words instead of trigrams. `null`: no condition.
 */
export type Need = null | { word: string } | { all: Need[] } | { any: Need[] }

interface NodeNeeds {
  /** All matching texts, if there are few. */
  exact: string[] | null
  need: Need
}

const MAX_EXACT = 16
const MAX_LENGTH = 200

/** Words are spelled as in the pattern; a case-insensitive search compares lower case. */
export const needOf = (node: Node): Need => {
  const needs = look(node)
  return needs.exact === null ? needs.need : anyOf(needs.exact.map(wordOf))
}

const wordOf = (word: string): Need => (Buffer.byteLength(word) >= 3 ? { word } : null)

function allOf(needs: Need[]): Need {
  const active = needs.filter((need) => need !== null)
  return active.length === 0 ? null : active.length === 1 ? active[0]! : { all: active }
}
const anyOf = (needs: Need[]): Need =>
  needs.length === 0 || needs.includes(null) ? null : needs.length === 1 ? needs[0]! : { any: needs }

const requirementOf = ({ exact, need }: NodeNeeds): Need => (exact === null ? need : anyOf(exact.map(wordOf)))

function look(node: Node): NodeNeeds {
  switch (node.kind) {
    case 'char':
      return { exact: [String.fromCodePoint(node.code)], need: null }
    case 'set': {
      const chars =
        node.set.beyond === 'none' && !node.set.not
          ? node.set.ascii.flatMap((holds, code) => (holds ? [String.fromCharCode(code)] : []))
          : []
      return chars.length > 0 && chars.length <= 4 ? { exact: chars, need: null } : { exact: null, need: null }
    }
    case 'at':
      return { exact: [''], need: null }
    case 'alt': {
      const parts = node.of.map(look)
      const exact = parts.flatMap((part) => part.exact ?? [])
      return parts.every((part) => part.exact !== null) && exact.length <= MAX_EXACT
        ? { exact, need: null }
        : { exact: null, need: anyOf(parts.map(requirementOf)) }
    }
    case 'repeat': {
      const inner = look(node.of)
      if (node.min === 1 && node.max === 1) return inner
      if (node.min === 0 && node.max === 1 && inner.exact !== null && inner.exact.length < MAX_EXACT)
        return { exact: ['', ...inner.exact], need: null }
      return { exact: null, need: node.min > 0 ? requirementOf(inner) : null }
    }
    case 'cat':
      return sequence(node.of.map(look))
  }
}

function sequence(parts: NodeNeeds[]): NodeNeeds {
  const needs: Need[] = []
  let run: string[] | null = ['']
  let whole = true
  for (const part of parts) {
    const product: string[] | null =
      part.exact && run !== null ? run.flatMap((word) => part.exact!.map((more) => word + more)) : null
    if (product !== null && product.length <= MAX_EXACT && product.every((word) => word.length <= MAX_LENGTH)) {
      run = product
      continue
    }
    whole = false
    if (run !== null) needs.push(anyOf(run.map(wordOf)))
    if (part.exact === null) needs.push(part.need)
    run = part.exact === null ? [''] : part.exact
  }
  if (whole) return { exact: run, need: null }
  if (run !== null) needs.push(anyOf(run.map(wordOf)))
  return { exact: null, need: allOf(needs) }
}

export function literalOf(node: Node): string | null {
  if (node.kind === 'char') return String.fromCodePoint(node.code)
  if (node.kind !== 'cat' || node.of.length === 0) return null
  const chars = node.of.map((one) => (one.kind === 'char' ? String.fromCodePoint(one.code) : null))
  return chars.includes(null) ? null : chars.join('')
}

/** The longest word in every matching line, or null. */
export function wordInAll(need: Need): string | null {
  if (need === null || 'any' in need) return null
  if ('word' in need) return need.word
  return need.all
    .map(wordInAll)
    .reduce<string | null>((best, word) => (word !== null && word.length > (best?.length ?? 0) ? word : best), null)
}

export const foldable = (word: string): boolean =>
  Array.from(word).every((char) => variants(char.codePointAt(0)!, true).length === 1)
