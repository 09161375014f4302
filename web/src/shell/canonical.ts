/** As the server takes an id: a ULID in either case (src/core/ids.ts). */
const ID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/i

const canonical = (word: string): string => (ID.test(word) ? word.toUpperCase() : word)

/** The path with its ids in upper case, as everything that tells of them writes them: events, links, what is kept by id. */
export const canonicalPath = (path: string): string => path.split('/').map(canonical).join('/')

/** What an address says in words of somebody else's: what is searched for, a path of a computer, names of models and providers. */
const WORDS: ReadonlySet<string> = new Set(['q', 'path', 'model', 'provider'])

/** The same of what stands behind the path of any page; the object itself where nothing changes. */
export function canonicalSearch<S extends object>(search: S): S {
  let changed = false
  const change = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(change)
    const now = typeof value === 'string' ? canonical(value) : value
    changed ||= now !== value
    return now
  }
  const made = Object.entries(search).map(([name, value]) => [name, WORDS.has(name) ? value : change(value)])
  return changed ? (Object.fromEntries(made) as S) : search
}
