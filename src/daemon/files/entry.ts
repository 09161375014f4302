import type { BigIntStats, Stats } from 'node:fs'
import { lstat, readFile, readlink } from 'node:fs/promises'
import type { z } from 'zod'
import type { Entry as EntrySchema } from '#daemon-protocol/operations.ts'
import { isUtf8, pathText } from '#core/files/file-path.ts'
import { below } from './path.ts'
import type { Folder } from './within.ts'

export type Entry = z.infer<typeof EntrySchema>

/** Returns the entry for a name in a folder, without following a symlink. Throws system errors. */
export async function entryAt(folder: Folder, name: Buffer): Promise<Entry> {
  const stats = await lstat(folder.at(name))
  const target = stats.isSymbolicLink() ? await readlink(folder.at(name)).catch(() => null) : null
  return rowOf({ path: below(folder.path, name), name, stats, target })
}

export async function rowOf({
  path,
  name,
  stats,
  target = null,
}: {
  path: Buffer
  name: Buffer
  stats: Stats | BigIntStats
  target?: string | null
}): Promise<Entry> {
  return {
    name: name.toString(),
    path: pathText(path),
    name_base64: isUtf8(name) ? null : name.toString('base64'),
    type: stats.isSymbolicLink() ? 'symlink' : stats.isFile() ? 'file' : stats.isDirectory() ? 'folder' : 'other',
    size_bytes: Number(stats.size),
    mode: Number(stats.mode) & 0o7777,
    owner: await ownerName(Number(stats.uid)),
    modified_at: new Date(Number(stats.mtimeMs)).toISOString(),
    target,
  }
}

const names = new Map<number, string | null>()
let readAt = 0

/** The owner's name from `/etc/passwd`, cached for a minute, or the UID if it has none. */
async function ownerName(uid: number): Promise<string> {
  if (Date.now() - readAt > 60_000) {
    readAt = Date.now()
    names.clear()
    for (const line of (await readFile('/etc/passwd', 'utf8').catch(() => '')).split('\n')) {
      const [name, , id] = line.split(':')
      if (name && id && !names.has(Number(id))) names.set(Number(id), name)
    }
  }
  return names.get(uid) ?? String(uid)
}
