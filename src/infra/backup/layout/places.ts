import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseId } from '#core/ids.ts'
import { backupsIn, manifestIn } from './source.ts'
import { cannotWrite } from './target.ts'

/** The file in a folder of backups that holds the id of the instance they belong to. */
const OWNER = 'instance'
const NO_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'])

/**
 * The folder for the backups of this instance below `to`: `to` itself for the one that came first, a folder named by its id for
 * any other. So what one removes is never what another has made, or is making: neither backups nor bytes of files.
 */
export async function placeIn(to: string, instance: string | null): Promise<string> {
  // Nobody has begun it: there is nothing in it that could be confused.
  if (instance === null) return to
  await mkdir(to, { recursive: true, mode: 0o700 }).catch(cannotWrite(to))
  const owner = (await ownerOf(to)) ?? (await claim(to, instance))
  return owner === instance ? to : join(to, instance)
}

/** The instance that a folder belongs to; in an older folder without the file, the instance of its newest backup. */
async function ownerOf(folder: string): Promise<string | null> {
  const owner = await readFile(join(folder, OWNER), 'utf8').catch(() => null)
  if (owner !== null) return parseId(owner.trim())
  const newest = (await backupsIn(folder)).at(-1)
  if (newest === undefined) return null
  const { instance } = await manifestIn(newest)
  return instance === null ? null : claim(folder, instance)
}

/**
 * Claims an empty folder; of two instances that try at once one gets it. The file appears with its content already
 * in it.
 */
async function claim(folder: string, instance: string): Promise<string> {
  const [path, own] = [join(folder, OWNER), join(folder, `${OWNER}.${instance}`)]
  await writeFile(own, `${instance}\n`, { mode: 0o600, flush: true }).catch(cannotWrite(folder))
  const there = (error: NodeJS.ErrnoException): true => (error.code === 'EEXIST' ? true : cannotWrite(folder)(error))
  const isTaken = await link(own, path).then(
    () => false,
    (error: NodeJS.ErrnoException) =>
      // FAT and some drives of a network know no second name for a file.
      NO_LINKS.has(error.code ?? '')
        ? writeFile(path, `${instance}\n`, { mode: 0o600, flush: true, flag: 'wx' }).then(() => false, there)
        : there(error),
  )
  await rm(own, { force: true })
  return isTaken ? ((await ownerOf(folder)) ?? instance) : instance
}
