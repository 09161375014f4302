import { edits } from '#core/text/near-word.ts'

const MOST_SUGGESTIONS = 3
const MOST_EDITS = 3
const MOST_LETTERS = 64
/** Shorter prefixes match too many words. */
const SHORTEST_PREFIX = 3
const ALIKE = 0.4

/**
 * Returns the known words closest to a mistyped one, best first: by edits, as a prefix, or by shared pairs of letters.
 */
export function nearWords(word: string, known: readonly string[]): string[] {
  const given = word.toLowerCase()
  if (given.length < 2 || given.length > MOST_LETTERS) return []
  const limit = Math.min(MOST_EDITS, Math.max(1, Math.floor(given.length / 2)))
  const scored = [...new Set(known)].map((name) => ({ name, distance: distanceOf(given, name.toLowerCase(), limit) }))
  return scored
    .filter(({ distance }) => distance < Infinity)
    .toSorted((a, b) => a.distance - b.distance)
    .slice(0, MOST_SUGGESTIONS)
    .map(({ name }) => name)
}

/** Ranks edits before prefixes, and prefixes before words that only look similar. */
function distanceOf(given: string, name: string, limit: number): number {
  const count = Math.abs(given.length - name.length) > limit ? Infinity : edits(given, name)
  if (count <= limit && count < Math.max(given.length, name.length)) return count
  if (given.length >= SHORTEST_PREFIX && name.startsWith(given)) return MOST_EDITS + 1
  if (given.length >= SHORTEST_PREFIX && isAbbreviation(given, name)) return MOST_EDITS + 2
  const share = alike(given, name)
  return share > ALIKE ? MOST_EDITS + 2 + (1 - share) : Infinity
}

/** Whether a word is another one with up to half of its letters missing: `mdl` for `model`. */
function isAbbreviation(given: string, name: string): boolean {
  if (given[0] !== name[0] || name.length > 2 * given.length) return false
  let at = 0
  for (const letter of name) if (letter === given[at]) at++
  return at === given.length
}

/** Share of letter pairs that two words have in common. */
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
