import { lstat, mkdir as makeFolder, readdir, rmdir, unlink } from 'node:fs/promises'
import type { Input, Output } from '#daemon-protocol/operations.ts'
import type { Stream } from '#packages/mux/stream.ts'
import { Refusal, refuse } from '#core/errors.ts'
import { pathText } from '#core/files/file-path.ts'
import { type Entry, entryAt, rowOf } from './entry.ts'
import { refuseMaking, refuseSystem } from './faults.ts'
import { nameOf, parentOf, readPath } from './path.ts'
import { type Folder, type Roots, openBelow } from './within.ts'

const isRefused = (error: unknown, code: string): boolean => error instanceof Refusal && error.code === code

export async function stat(roots: Roots, { path: given }: Input<'fs.stat'>): Promise<Entry> {
  const path = readPath(given)
  if (nameOf(path).length === 0) return rootAt(roots, path)
  try {
    const { folder, name } = await roots.openParent(path)
    await using _folder = folder
    return await entryAt(folder, name).catch((error) => refuseSystem(error, path))
  } catch (error) {
    // The parent of an allowed folder is out of reach, but the folder itself isn't.
    if (isRefused(error, 'capability_denied')) return rootAt(roots, path, error)
    throw error
  }
}

async function rootAt(roots: Roots, path: Buffer, refused: unknown = null): Promise<Entry> {
  await using folder = await roots.openFolder(path).catch((error: unknown) => Promise.reject(refused ?? error))
  if (refused !== null && !(await roots.isRoot(folder.path))) throw refused
  return rowOfFolder(folder)
}

async function rowOfFolder({ path, handle }: Folder): Promise<Entry> {
  const name = nameOf(path)
  const row = await rowOf({ path, name, stats: await handle.stat() })
  return { ...row, name: row.name || '/' }
}

/**
 * Creates a folder. With `parents`, creates missing ones too and accepts an existing folder or a symlink to one,
 * like `mkdir -p`.
 */
export async function mkdir(roots: Roots, { path: given, parents }: Input<'fs.mkdir'>): Promise<Entry> {
  const path = readPath(given)
  if (!parents) return makeOne(path)
  const missing: Buffer[] = []
  for (let there = path; !(await isFolder(there)); there = parentOf(there)) missing.unshift(there)
  for (const each of missing)
    await makeOne(each).catch((error) => {
      // Concurrent callers: it only matters that it exists.
      if (!isRefused(error, 'already_exists')) throw error
    })
  await using folder = await roots.openFolder(path)
  return rowOfFolder(folder)

  async function isFolder(one: Buffer): Promise<boolean> {
    try {
      await using _folder = await roots.openFolder(one)
      return true
    } catch (error) {
      // A file or a broken symlink has the name.
      if (!isRefused(error, 'capability_denied') && (await isThere(one)))
        return refuse('already_exists', {
          param: 'path',
          message: 'This path exists and isn’t a folder.',
          details: { path: pathText(one) },
        })
      if (isRefused(error, 'not_found')) return false
      throw error
    }
  }

  async function isThere(one: Buffer): Promise<boolean> {
    try {
      const { folder, name } = await roots.openParent(one)
      await using _folder = folder
      return (await lstat(folder.at(name))) !== null
    } catch {
      return false
    }
  }

  async function makeOne(one: Buffer): Promise<Entry> {
    const { folder, name } = await roots.openParent(one)
    await using _folder = folder
    await makeFolder(folder.at(name)).catch((error) => refuseMaking(folder, error, one))
    return await entryAt(folder, name).catch((error) => refuseSystem(error, one))
  }
}

/** Removes a file, a symlink (never its target), an empty folder, or with `recursive` a folder and its contents. */
export async function remove(
  roots: Roots,
  { path: given, recursive }: Input<'fs.remove'>,
  stream: Pick<Stream, 'event'>,
  signal: AbortSignal,
): Promise<Output<'fs.remove'>> {
  const path = readPath(given)
  const { folder, name } = await roots.openParent(path)
  await using _folder = folder
  let counted = 0
  let reportedAt = performance.now()
  const count = (): void => {
    counted++
    if (performance.now() - reportedAt < TELL_MS) return
    reportedAt = performance.now()
    stream.event({ type: 'progress', removed: counted })
  }
  return {
    removed: await removeAt(folder, name, { recursive, count, signal }).catch((error) => refuseSystem(error, path)),
  }
}

const TELL_MS = 1_000

interface Removing {
  recursive: boolean
  count(): void
  signal: AbortSignal
}

async function removeAt(folder: Folder, name: Buffer, how: Removing): Promise<number> {
  how.signal.throwIfAborted()
  const stats = await lstat(folder.at(name))
  if (!stats.isDirectory()) {
    await unlink(folder.at(name))
    how.count()
    return 1
  }
  let removed = 0
  if (how.recursive) {
    await using below = await openBelow(folder, name)
    for (const each of await readdir(below.at('.'), { encoding: 'buffer' }))
      removed += await removeAt(below, each, how).catch(countMissing)
  }
  await rmdir(folder.at(name))
  how.count()
  return removed + 1
}

function countMissing(error: unknown): number {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return 0
  throw error
}
