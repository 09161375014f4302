import { existsSync, statSync } from 'node:fs'
import { access, constants, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Config } from '#config'
import type { Blobs } from '#infra/blobs/blobs.ts'
import { rootKeyId } from '#infra/secrets.ts'
import { FIND_DATA, placeOfData } from '#infra/start-refused.ts'
import { presentKeys } from '../instance.ts'
import { sizeWords } from '../report.ts'
import { type Found, fail, off, ok, plural, warn, wordsOf } from './check.ts'

/** Checks of this machine: folders, keys, disks, and the store of files. */

export function checkSettings(warnings: readonly string[]): Found {
  if (warnings.length === 0) return ok('Every setting is known.')
  return warn(warnings.join('; '), '`uk config` lists all settings.')
}

export async function checkDataDir({ dataDir }: Config): Promise<Found> {
  if (!existsSync(dataDir))
    return fail(`${placeOfData(dataDir)} doesn't exist.`, `If your server uses another folder, ${FIND_DATA}.`)
  const writable = await access(dataDir, constants.R_OK | constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  )
  if (!writable) return fail(`${dataDir} cannot be written by this user.`, 'Run this as the user of the server.')
  if ((statSync(dataDir).mode & 0o007) !== 0)
    return warn(`${dataDir} is open to all users of this machine.`, `chmod o-rwx ${dataDir}`)
  return ok(`${dataDir} is ours to write.`)
}

/** `sealedWith`: the names of the keys that seal what is kept, and how many values each. */
export function checkRootKey(config: Config, sealedWith: ReadonlyMap<string, number>): Found {
  const present = presentKeys(config)
  const path = join(config.dataDir, 'secret-key')
  if (present.length === 0)
    return sealedWith.size === 0
      ? ok('No root key was made yet, and nothing is sealed.')
      : fail('There is no root key.', `Put the one of this instance in ${path}, or set UK_SECRET_KEY.`)
  const ids = new Set(present.map(rootKeyId))
  const closed = [...sealedWith].filter(([id]) => !ids.has(id)).reduce((sum, [, count]) => sum + count, 0)
  if (closed > 0)
    return fail(
      `${plural(closed, 'stored secret')} cannot be opened with the root key that is here.`,
      'Add the key that sealed them behind it: UK_SECRET_KEY=new,old; or enter those secrets again.',
    )
  if (config.secretKeys.length === 0 && (statSync(path).mode & 0o077) !== 0)
    return warn(`${path} can be read by others.`, `chmod 600 ${path}`)
  return ok('The root key opens what is sealed.')
}

/**
 * The result where trying the store would create its folder, and no instance uses that yet: checks create nothing. Null where it
 * can be tried. `started`: a server was started on this database before.
 */
export function untriedFolder({ blobs, dataDir }: Pick<Config, 'blobs' | 'dataDir'>, started: boolean): Found | null {
  if (blobs !== 'file:' || existsSync(join(dataDir, 'blobs')) || (started && existsSync(dataDir))) return null
  return off('No files are stored yet.', 'The first upload creates the folder.')
}

const PROBE = Buffer.from('uk doctor looks whether bytes can be written, read and removed')

export async function checkBlobs(blobs: Blobs, { blobs: where }: Config): Promise<Found> {
  try {
    const staged = await blobs.stage(
      (async function* () {
        yield PROBE
      })(),
    )
    const place = await staged.park()
    const read = Buffer.concat(await Array.fromAsync(blobs.read(place)))
    await blobs.remove(place)
    if (!read.equals(PROBE))
      return fail('The store of files gave other bytes than were written.', 'Look after its disk or service.')
    return ok(`Files can be written, read and removed (${where}).`)
  } catch (error) {
    return fail(
      `The store of files does not work: ${wordsOf(error)}`,
      where === 'file:'
        ? 'Look at the disk and the rights of UK_DATA_DIR/blobs.'
        : 'Look at UK_BLOBS, UK_S3_ENDPOINT and AWS_*; its user must be allowed to write, read, list and delete.',
    )
  }
}

const LEAST_BYTES = 1e9
const LEAST_PART = 0.1

export async function checkDisk({ dataDir }: Config): Promise<Found> {
  let there = dataDir
  while (!existsSync(there)) there = dirname(there)
  const { bavail, blocks, bsize } = await statfs(there)
  const free = bavail * bsize
  const words = `${sizeWords(free)} of ${sizeWords(blocks * bsize)} are left on the disk of ${dataDir}.`
  if (free < LEAST_BYTES / 4) return fail(words, 'Make room before the database stops for want of it.')
  if (free < LEAST_BYTES || bavail < blocks * LEAST_PART)
    return warn(words, 'Make room, or set UK_REQUEST_RETENTION_DAYS lower.')
  return ok(words)
}
