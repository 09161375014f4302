import { createHash } from 'node:crypto'
import { refuse } from './errors.ts'
import { charactersOf } from './json/json-pieces.ts'

/**
 * A cursor is opaque and bound to the list and its filters: base64url of the position behind a fingerprint of both.
 * A position is what the list is sorted by (an id, or a few columns), so it holds under inserts and deletes.
 */
export function cursorOf(list: string, filters: unknown, position: readonly (string | number)[]): string {
  return Buffer.from(JSON.stringify([fingerprint(list, filters), ...position])).toString('base64url')
}

/** The position in a cursor, or null without one; refuses another list's, or garbage. */
export function positionOf(list: string, filters: unknown, cursor: string | undefined): (string | number)[] | null {
  if (cursor === undefined) return null
  let parts: unknown
  try {
    parts = JSON.parse(Buffer.from(cursor, 'base64url').toString())
  } catch {
    return refuse('invalid_cursor', { param: 'cursor' })
  }
  if (!Array.isArray(parts) || parts.length < 2 || parts[0] !== fingerprint(list, filters))
    refuse('invalid_cursor', { param: 'cursor' })
  const position = parts.slice(1)
  if (!position.every((part) => typeof part === 'string' || typeof part === 'number'))
    refuse('invalid_cursor', { param: 'cursor' })
  return position
}

/** The whole number at a place of a position, as an `int` column holds one; null without a position. Refuses another. */
export function wholeAt(position: readonly (string | number)[] | null, place: number): number | null {
  if (position === null) return null
  const value = position[place]
  // `| 0` is the number itself only within 32 bits.
  return typeof value === 'number' && (value | 0) === value ? value : refuse('invalid_cursor', { param: 'cursor' })
}

/** About the most characters of a page's rows as JSON: an answer of more keeps everyone waiting while it is written. */
const MOST_CHARACTERS = 8_000_000

/** A page of what was read with `limit + 1`. It has fewer rows than the limit where they are large, and at least one. */
export function pageOf<R, T>(
  rows: R[],
  limit: number,
  next: (last: R) => string,
  show: (row: R) => T,
): { rows: T[]; next: string | null } {
  const visible: T[] = []
  let characters = 0
  for (const row of rows.slice(0, limit)) {
    const one = show(row)
    characters += charactersOf(one)
    if (characters > MOST_CHARACTERS && visible.length > 0) break
    visible.push(one)
  }
  return { rows: visible, next: rows.length > visible.length ? next(rows[visible.length - 1]!) : null }
}

function fingerprint(list: string, filters: unknown): string {
  return createHash('sha256').update(list).update(JSON.stringify(filters, sortKeys)).digest('base64url').slice(0, 8)
}

const sortKeys = (_: string, value: unknown): unknown =>
  value && typeof value === 'object' && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value
