import { createHash } from 'node:crypto'
import { refuse } from './errors.ts'
import { charactersOf } from './json/json-pieces.ts'

/**
 * Cursors are opaque: base64url of the position and a fingerprint of the list and its filters. A position consists of
 * sort keys, so it stays valid under inserts and deletes.
 */
export function cursorOf(list: string, filters: unknown, position: readonly (string | number)[]): string {
  return Buffer.from(JSON.stringify([fingerprint(list, filters), ...position])).toString('base64url')
}

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

/** The integer at a place of a position, or null without a position. Refuses other values. */
export function wholeAt(position: readonly (string | number)[] | null, place: number): number | null {
  if (position === null) return null
  const value = position[place]
  // `| 0` returns the number unchanged only within 32 bits.
  return typeof value === 'number' && (value | 0) === value ? value : refuse('invalid_cursor', { param: 'cursor' })
}

/** Maximum JSON characters of a page's rows: encoding a larger response blocks the process. */
const MAX_CHARACTERS = 8_000_000

/** Builds a page from rows read with `limit + 1`. Large rows reduce the page size, down to one. */
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
    if (characters > MAX_CHARACTERS && visible.length > 0) break
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
