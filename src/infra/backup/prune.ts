import { readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { backupsIn, manifestIn, openSource } from './layout/source.ts'
import { listedBlobs } from './verify.ts'

export async function keepNewest(folder: string, keep: number, instance: string | null): Promise<number> {
  const own: string[] = []
  for (const path of await backupsIn(folder)) if ((await manifestIn(path)).instance === instance) own.push(path)
  const old = own.slice(0, Math.max(0, own.length - keep))
  if (old.length === 0) return 0
  for (const path of old) {
    // Renamed first, so a half-deleted backup isn't taken for a complete one.
    await rename(path, `${path}.partial`)
    await rm(`${path}.partial`, { recursive: true, force: true })
  }
  const requiredHashes = new Set<string>()
  for (const path of await backupsIn(folder)) {
    await using source = await openSource(path)
    for (const { sha256 } of await listedBlobs(source)) requiredHashes.add(sha256)
  }
  for (const part of await readdir(join(folder, 'blobs')))
    for (const name of /^[0-9a-f]{2}$/.test(part) ? await readdir(join(folder, 'blobs', part)) : [])
      if (!requiredHashes.has(name)) await rm(join(folder, 'blobs', part, name), { force: true })
  return old.length
}
