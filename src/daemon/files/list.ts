import { opendir } from 'node:fs/promises'
import type { Input, Output } from '#daemon-protocol/operations.ts'
import { refuse } from '#core/errors.ts'
import { partOf } from '../part.ts'
import { type Entry, entryAt } from './entry.ts'
import { refuseSystem } from './faults.ts'
import { readPath } from './path.ts'
import type { Folder, Roots } from './within.ts'

/** Entries that are looked at together: the system answers four at a time. */
const AT_ONCE = 64

/**
 * The entries of a folder in the order of the bytes of their names. The cursor is the last name of the page before, so what
 * comes and goes meanwhile neither repeats nor hides the others. Names are strings of a character for each byte.
 */
export async function list(roots: Roots, { path: given, cursor, limit }: Input<'fs.list'>): Promise<Output<'fs.list'>> {
  const path = readPath(given)
  await using folder = await roots.openFolder(path)
  const after = cursor === null ? null : nameIn(cursor)
  const names = await namesBehind(folder, after, limit + 1).catch((error) => refuseSystem(error, path))
  const found: { name: string; entry: Entry }[] = []
  for (let at = 0; at < Math.min(limit, names.length); at += AT_ONCE) {
    const some = names.slice(at, Math.min(at + AT_ONCE, limit))
    // What was removed since its name was read is none.
    const rows = await Promise.all(some.map((name) => entryAt(folder, Buffer.from(name, 'latin1')).catch(() => null)))
    for (const [i, entry] of rows.entries()) if (entry !== null) found.push({ name: some[i]!, entry })
  }
  // A page ends early where its rows are longer than one answer.
  const { rows: entries, next } = partOf(found.map(({ entry }) => entry))
  const last = next !== null ? found[next - 1]!.name : names.length > limit ? names[limit - 1]! : null
  return { entries, next_cursor: last === null ? null : Buffer.from(last, 'latin1').toString('base64url') }
}

function nameIn(cursor: string): string {
  const name = Buffer.from(cursor, 'base64url')
  if (name.length === 0 || name.length > 255) refuse('invalid_cursor', { param: 'cursor' })
  return name.toString('latin1')
}

/** The sorted names of the folder that was listed last, for its next page: to read 100,000 names for each would take minutes. */
let last: { key: string; names: string[]; forget: NodeJS.Timeout } | null = null
const MOST_NAMES = 500_000
const KEPT_MS = 30_000
/** A change so recent may be followed by another one with the same time. */
const FRESH_NS = 2_000_000_000n

/** The `count` smallest names behind `after`. */
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

/** The first names; and all of them, where they are not too many to be held. */
async function readNames(
  path: Buffer,
  after: string | null,
  count: number,
): Promise<{ first: string[]; all: string[] | null }> {
  let first: string[] = []
  let all: string[] | null = []
  const cut = (): void => void (first = first.sort().slice(0, count))
  // `buffer` is an encoding of opendir since Node 10; its types know only the ones of strings.
  const open = opendir as unknown as (
    path: Buffer,
    options: { encoding: 'buffer'; bufferSize: number },
  ) => Promise<AsyncIterable<{ name: Buffer }>>
  for await (const { name: bytes } of await open(path, { encoding: 'buffer', bufferSize: 256 })) {
    const name = bytes.toString('latin1')
    if (all !== null && all.push(name) > MOST_NAMES) all = null
    if (after !== null && name <= after) continue
    first.push(name)
    if (first.length >= count + 4_096) cut()
  }
  cut()
  return { first, all }
}
