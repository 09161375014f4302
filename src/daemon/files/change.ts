import { lstat, mkdir as makeFolder, readdir, rmdir, unlink } from 'node:fs/promises'
import type { Input, Output } from '#wire/operations.ts'
import { Refusal } from '#kernel/errors.ts'
import { pathText } from '#kernel/text/file-path.ts'
import { type Entry, entryAt } from './entry.ts'
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
    // The folder above an allowed one is out of reach, and it itself is not.
    if (isRefused(error, 'capability_denied')) return rootAt(roots, path, error)
    throw error
  }
}

/** The row of a folder that was allowed as such; of any other what was refused, whatever it is. */
async function rootAt(roots: Roots, path: Buffer, refused: unknown = null): Promise<Entry> {
  await using folder = await roots.openFolder(path).catch((error: unknown) => Promise.reject(refused ?? error))
  if (refused !== null && !(await roots.isRoot(folder.path))) throw refused
  return { ...(await entryAt(folder, Buffer.from('.'))), ...namesOf(folder.path) }
}

const namesOf = (path: Buffer): Pick<Entry, 'name' | 'path'> => ({
  name: nameOf(path).toString() || '/',
  path: pathText(path),
})

/** Makes a folder. With `parents` one that is there already is fine, as with `mkdir -p`. */
export async function mkdir(roots: Roots, { path: given, parents }: Input<'fs.mkdir'>): Promise<Entry> {
  const path = readPath(given)
  if (!parents) return makeOne(path)
  const missing: Buffer[] = []
  let there = path
  for (;;) {
    const found = await roots.openFolder(there).catch((error) => {
      if (isRefused(error, 'not_found')) return null
      throw error
    })
    await found?.[Symbol.asyncDispose]()
    if (found) break
    missing.unshift(there)
    there = parentOf(there)
  }
  for (const each of missing)
    await makeOne(each).catch((error) => {
      // Two callers at once: what counts is that it is there.
      if (!isRefused(error, 'already_exists')) throw error
    })
  return stat(roots, { path: given })

  async function makeOne(one: Buffer): Promise<Entry> {
    const { folder, name } = await roots.openParent(one)
    await using _folder = folder
    await makeFolder(folder.at(name)).catch((error) => refuseMaking(folder, error, one))
    return await entryAt(folder, name).catch((error) => refuseSystem(error, one))
  }
}

/** Removes a file, a symlink (never what it points to), an empty folder, or with `recursive` a folder and all in it. */
export async function remove(
  roots: Roots,
  { path: given, recursive }: Input<'fs.remove'>,
  signal: AbortSignal,
): Promise<Output<'fs.remove'>> {
  const path = readPath(given)
  const { folder, name } = await roots.openParent(path)
  await using _folder = folder
  return { removed: await removeAt(folder, name, recursive, signal).catch((error) => refuseSystem(error, path)) }
}

async function removeAt(folder: Folder, name: Buffer, recursive: boolean, signal: AbortSignal): Promise<number> {
  signal.throwIfAborted()
  const stats = await lstat(folder.at(name))
  if (!stats.isDirectory()) {
    await unlink(folder.at(name))
    return 1
  }
  let removed = 0
  if (recursive) {
    await using below = await openBelow(folder, name)
    for (const each of await readdir(below.at('.'), { encoding: 'buffer' }))
      removed += await removeAt(below, each, true, signal).catch(gone)
  }
  await rmdir(folder.at(name))
  return removed + 1
}

/** The count for a path that somebody else removed first. */
function gone(error: unknown): number {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return 0
  throw error
}
