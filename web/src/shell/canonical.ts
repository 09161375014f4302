/** Matches IDs as the server accepts them: ULIDs in either case. */
const ID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/i

const canonical = (word: string): string => (ID.test(word) ? word.toUpperCase() : word)

/** Returns the path with uppercase IDs, as events, links and cache keys write them. */
export const canonicalPath = (path: string): string => path.split('/').map(canonical).join('/')

/** Parameters with free text: search words, file paths on computers, model and provider names. */
const WORDS: ReadonlySet<string> = new Set(['q', 'path', 'model', 'provider'])

/** Returns the search parameters with uppercase IDs; the same object if nothing changes. */
export function canonicalSearch<S extends object>(search: S): S {
  let changed = false
  const change = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(change)
    const now = typeof value === 'string' ? canonical(value) : value
    changed ||= now !== value
    return now
  }
  const entries = Object.entries(search).map(([name, value]) => [name, WORDS.has(name) ? value : change(value)])
  return changed ? (Object.fromEntries(entries) as S) : search
}
