import { edits } from '#core/text/near-word.ts'

const MAX_SUGGESTIONS = 3
const MAX_EDITS = 3
const MAX_LETTERS = 64
/** Shorter prefixes match too many words. */
const SHORTEST_PREFIX = 3
const ALIKE = 0.4

/**
 * Returns the known words closest to a mistyped one, best first: by edits, as a prefix, or by shared pairs of letters.
 */
export function nearWords(word: string, candidates: readonly string[]): string[] {
  const typed = word.toLowerCase()
  if (typed.length < 2 || typed.length > MAX_LETTERS) return []
  const limit = Math.min(MAX_EDITS, Math.max(1, Math.floor(typed.length / 2)))
  const scored = [...new Set(candidates)].map((name) => ({
    name,
    distance: distanceOf(typed, name.toLowerCase(), limit),
  }))
  return scored
    .filter(({ distance }) => distance < Infinity)
    .toSorted((a, b) => a.distance - b.distance)
    .slice(0, MAX_SUGGESTIONS)
    .map(({ name }) => name)
}

/** Ranks edits before prefixes, and prefixes before words that only look similar. */
function distanceOf(typed: string, name: string, limit: number): number {
  const count = Math.abs(typed.length - name.length) > limit ? Infinity : edits(typed, name)
  if (count <= limit && count < Math.max(typed.length, name.length)) return count
  if (typed.length >= SHORTEST_PREFIX && name.startsWith(typed)) return MAX_EDITS + 1
  if (typed.length >= SHORTEST_PREFIX && isAbbreviation(typed, name)) return MAX_EDITS + 2
  const share = alike(typed, name)
  return share > ALIKE ? MAX_EDITS + 2 + (1 - share) : Infinity
}

/** Whether a word is another one with up to half of its letters missing: `mdl` for `model`. */
function isAbbreviation(given: string, name: string): boolean {
  if (given[0] !== name[0] || name.length > 2 * given.length) return false
  let at = 0
  for (const letter of name) if (letter === given[at]) at++
  return at === given.length
}

function alike(a: string, b: string): number {
  const [one, other] = [pairsOf(a), pairsOf(b)]
  return (2 * [...one].filter((pair) => other.has(pair)).length) / (one.size + other.size)
}

const pairsOf = (text: string): Set<string> =>
  new Set(Array.from({ length: text.length + 1 }, (_, i) => ` ${text} `.slice(i, i + 2)))

export function didYouMean(names: readonly string[]): string | undefined {
  const quoted = names.map((name) => `\`${name}\``)
  if (quoted.length === 0) return undefined
  const last = quoted.pop()!
  return `Did you mean ${quoted.length === 0 ? last : `${quoted.join(', ')} or ${last}`}?`
}
