import { opendir } from 'node:fs/promises'
import type { Input, Output } from '#daemon-protocol/operations.ts'
import { refuse } from '#core/errors.ts'
import { partOf } from '../part.ts'
import { type Entry, entryAt } from './entry.ts'
import { refuseSystem } from './faults.ts'
import { readPath } from './path.ts'
import type { Folder, Roots } from './within.ts'

/** Entries inspected concurrently; the system handles four at a time. */
const AT_ONCE = 64

/**
 * Lists a folder in byte order of names. The cursor is the last name of the previous page, so concurrent changes
 * neither repeat nor hide others. Names are strings with one character per byte.
 */
export async function list(roots: Roots, { path: given, cursor, limit }: Input<'fs.list'>): Promise<Output<'fs.list'>> {
  const path = readPath(given)
  await using folder = await roots.openFolder(path)
  const after = cursor === null ? null : nameIn(cursor)
  const names = await namesBehind(folder, after, limit + 1).catch((error) => refuseSystem(error, path))
  const matches: { name: string; entry: Entry }[] = []
  for (let at = 0; at < Math.min(limit, names.length); at += AT_ONCE) {
    const some = names.slice(at, Math.min(at + AT_ONCE, limit))
    // Entries removed since their name was read are skipped.
    const rows = await Promise.all(some.map((name) => entryAt(folder, Buffer.from(name, 'latin1')).catch(() => null)))
    for (const [i, entry] of rows.entries()) if (entry !== null) matches.push({ name: some[i]!, entry })
  }
  // A page ends early if its rows exceed one message.
  const { rows: entries, next } = partOf(matches.map(({ entry }) => entry))
  const last = next !== null ? matches[next - 1]!.name : names.length > limit ? names[limit - 1]! : null
  return { entries, next_cursor: last === null ? null : Buffer.from(last, 'latin1').toString('base64url') }
}

function nameIn(cursor: string): string {
  const name = Buffer.from(cursor, 'base64url')
  if (name.length === 0 || name.length > 255) refuse('invalid_cursor', { param: 'cursor' })
  return name.toString('latin1')
}

/**
 * Sorted names of the last listed folder, for its next page: reading 100,000 names for each page would take
 * minutes.
 */
let last: { key: string; names: string[]; forget: NodeJS.Timeout } | null = null
const MAX_NAMES = 500_000
const KEPT_MS = 30_000
/** After so recent a change, another change may have the same mtime. */
const FRESH_NS = 2_000_000_000n

async function namesBehind(folder: Folder, after: string | null, count: number): Promise<string[]> {
  const { dev, ino, mtimeNs } = await folder.handle.stat({ bigint: true })
  const key = `${dev}:${ino}:${mtimeNs}`
  if (after !== null && last?.key === key) return slice(last.names, after, count)
  const settled = BigInt(Date.now()) * 1_000_000n - mtimeNs > FRESH_NS
  const { first, all } = await readNames(folder.at('.'), after, count)
  if (settled && first.length === count && all !== null) remember(key, all.sort())
  return first
}

function remember(key: string, names: string[]): void {
  clearTimeout(last?.forget)
  last = { key, names, forget: setTimeout(() => (last = null), KEPT_MS).unref() }
}

function slice(sorted: readonly string[], after: string, count: number): string[] {
  let low = 0
  for (let high = sorted.length; low < high;) {
    const middle = (low + high) >>> 1
    if (sorted[middle]! <= after) low = middle + 1
    else high = middle
  }
  return sorted.slice(low, low + count)
}

async function readNames(
  path: Buffer,
  after: string | null,
  count: number,
): Promise<{ first: string[]; all: string[] | null }> {
  let first: string[] = []
  let all: string[] | null = []
  const trim = (): void => void (first = first.sort().slice(0, count))
  // Node's opendir accepts `buffer` since version 10, but its types don't.
  const open = opendir as unknown as (
    path: Buffer,
    options: { encoding: 'buffer'; bufferSize: number },
  ) => Promise<AsyncIterable<{ name: Buffer }>>
  for await (const { name: bytes } of await open(path, { encoding: 'buffer', bufferSize: 256 })) {
    const name = bytes.toString('latin1')
    if (all !== null && all.push(name) > MAX_NAMES) all = null
    if (after !== null && name <= after) continue
    first.push(name)
    if (first.length >= count + 4_096) trim()
  }
  trim()
  return { first, all }
}
