import { cursorOf, pageOf, positionOf } from '#core/paging.ts'
import type { Principal } from '#core/principal.ts'

/** Returns a page ordered by slug. The cursor is bound to the caller and the filters. */
export function pageBySlug<T extends { slug: string }>(
  kind: string,
  { accountId }: Principal,
  filters: object,
  rows: readonly T[],
  { cursor, limit }: { cursor?: string | undefined; limit: number },
) {
  const bound = { accountId, ...filters }
  const after = positionOf(kind, bound, cursor)?.[0]
  const all = rows.toSorted((a, b) => (a.slug < b.slug ? -1 : 1))
  const left = after === undefined ? all : all.filter(({ slug }) => slug > String(after))
  return pageOf(
    left.slice(0, limit + 1),
    limit,
    ({ slug }) => cursorOf(kind, bound, [slug]),
    (row) => row,
  )
}

export function resultsOf<T>(
  found: readonly T[],
  { offset, limit, q }: { offset: number; limit: number; q?: string | undefined },
  filters: Record<string, unknown>,
) {
  const given = Object.entries(filters).filter(
    ([name, value]) => value !== undefined && !(name === 'status' && value === 'available'),
  )
  return {
    items: found.slice(offset, offset + limit),
    total_count: found.length,
    query: q ?? null,
    applied_filters: Object.fromEntries(given),
  }
}

export function hasWords(text: string, q: string | undefined): boolean {
  const words = (q ?? '').toLowerCase().split(/\s+/).filter(Boolean)
  const lower = text.toLowerCase()
  return words.every((word) => lower.includes(word))
}

/** Sorts rows by a key, then by slug. Rows without the key come last in either order. */
export function sortedBy<T extends { slug: string }>(
  rows: readonly T[],
  key: (row: T) => number | string | null,
  descending: boolean,
): T[] {
  const compare = (a: T, b: T): number => {
    const [left, right] = [key(a), key(b)]
    if (left === right) return a.slug < b.slug ? -1 : 1
    if (left === null) return 1
    if (right === null) return -1
    return (left < right ? -1 : 1) * (descending ? -1 : 1)
  }
  return rows.toSorted(compare)
}

/** Whether a tag matches one of these languages: `en` matches `en-GB`. */
export const speaks = (languages: readonly string[], asked: string | undefined): boolean =>
  asked === undefined || languages.some((one) => `${one.toLowerCase()}-`.startsWith(`${asked.toLowerCase()}-`))
