import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseId } from '#core/ids.ts'
import { backupsIn, manifestIn } from './source.ts'
import { cannotWrite } from './target.ts'

const OWNER = 'instance'
const NO_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'])

/**
 * The backup folder of this instance below `to`: `to` itself for the first instance, a folder named by ID for others.
 * So no instance removes backups or blobs of another.
 */
export async function placeIn(to: string, instance: string | null): Promise<string> {
  if (instance === null) return to
  await mkdir(to, { recursive: true, mode: 0o700 }).catch(cannotWrite(to))
  const owner = (await ownerOf(to)) ?? (await claim(to, instance))
  return owner === instance ? to : join(to, instance)
}

async function ownerOf(folder: string): Promise<string | null> {
  const owner = await readFile(join(folder, OWNER), 'utf8').catch(() => null)
  if (owner !== null) return parseId(owner.trim())
  const newest = (await backupsIn(folder)).at(-1)
  if (newest === undefined) return null
  const { instance } = await manifestIn(newest)
  return instance === null ? null : claim(folder, instance)
}

/** Claims an empty folder. If two instances try at once, one wins. The file appears complete. */
async function claim(folder: string, instance: string): Promise<string> {
  const [path, own] = [join(folder, OWNER), join(folder, `${OWNER}.${instance}`)]
  await writeFile(own, `${instance}\n`, { mode: 0o600, flush: true }).catch(cannotWrite(folder))
  const there = (error: NodeJS.ErrnoException): true => (error.code === 'EEXIST' ? true : cannotWrite(folder)(error))
  const isTaken = await link(own, path).then(
    () => false,
    (error: NodeJS.ErrnoException) =>
      // FAT and some network drives don't support hard links.
      NO_LINKS.has(error.code ?? '')
        ? writeFile(path, `${instance}\n`, { mode: 0o600, flush: true, flag: 'wx' }).then(() => false, there)
        : there(error),
  )
  await rm(own, { force: true })
  return isTaken ? ((await ownerOf(folder)) ?? instance) : instance
}
