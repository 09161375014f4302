import { existsSync, statSync } from 'node:fs'
import { access, constants, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Config } from '#config'
import type { Blobs } from '#infra/blobs/blobs.ts'
import { rootKeyId } from '#infra/secrets.ts'
import { FIND_DATA, placeOfData } from '#infra/start-refused.ts'
import { presentKeys } from '../instance.ts'
import { sizeWords } from '../report.ts'
import { type CheckResult, fail, off, ok, plural, warn, wordsOf } from './check.ts'

export function checkSettings(warnings: readonly string[]): CheckResult {
  if (warnings.length === 0) return ok('All settings are valid.')
  return warn(warnings.join('; '), 'Run `uk config` to list all settings.')
}

export async function checkDataDir({ dataDir }: Config): Promise<CheckResult> {
  if (!existsSync(dataDir))
    return fail(`${placeOfData(dataDir)} doesn't exist.`, `If your server uses another folder, ${FIND_DATA}.`)
  const writable = await access(dataDir, constants.R_OK | constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  )
  if (!writable) return fail(`You can't write to ${dataDir}.`, 'Run this as the user that runs the server.')
  if ((statSync(dataDir).mode & 0o007) !== 0)
    return warn(`All users of this machine can access ${dataDir}.`, `chmod o-rwx ${dataDir}`)
  return ok(`${dataDir} is writable.`)
}

/** `sealedWith`: number of encrypted values by key ID. */
export function checkRootKey(config: Config, sealedWith: ReadonlyMap<string, number>): CheckResult {
  const present = presentKeys(config)
  const path = join(config.dataDir, 'secret-key')
  if (present.length === 0)
    return sealedWith.size === 0
      ? ok('No root key yet. Nothing is encrypted.')
      : fail('The root key is missing.', `Put this instance's key in ${path}, or set UK_SECRET_KEY.`)
  const ids = new Set(present.map(rootKeyId))
  const closed = [...sealedWith].filter(([id]) => !ids.has(id)).reduce((sum, [, count]) => sum + count, 0)
  if (closed > 0)
    return fail(
      `${plural(closed, 'stored secret')} can't be decrypted with this root key.`,
      'Add the old key after the new one (UK_SECRET_KEY=new,old), or enter the secrets again.',
    )
  if (config.secretKeys.length === 0 && (statSync(path).mode & 0o077) !== 0)
    return warn(`Other users can read ${path}.`, `chmod 600 ${path}`)
  return ok('The root key decrypts all stored secrets.')
}

/**
 * The result if testing the storage would create its folder: checks create nothing. Null if it can be tested.
 * `started`: a server has started on this database before.
 */
export function untriedFolder(
  { blobs, dataDir }: Pick<Config, 'blobs' | 'dataDir'>,
  started: boolean,
): CheckResult | null {
  if (blobs !== 'file:' || existsSync(join(dataDir, 'blobs')) || (started && existsSync(dataDir))) return null
  return off('No files yet.', 'The first upload creates the folder.')
}

const PROBE = Buffer.from('uk doctor looks whether bytes can be written, read and removed')

export async function checkBlobs(blobs: Blobs, { blobs: where }: Config): Promise<CheckResult> {
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
      return fail('The file storage returned different bytes than were written.', 'Check its disk or service.')
    return ok(`Files can be written, read and deleted (${where}).`)
  } catch (error) {
    return fail(
      `The file storage doesn't work: ${wordsOf(error)}`,
      where === 'file:'
        ? 'Check the disk and the permissions of UK_DATA_DIR/blobs.'
        : 'Check UK_BLOBS, UK_S3_ENDPOINT and AWS_*. The user needs permission to write, read, list and delete.',
    )
  }
}

const MIN_BYTES = 1e9
const MIN_PART = 0.1

export async function checkDisk({ dataDir }: Config): Promise<CheckResult> {
  let there = dataDir
  while (!existsSync(there)) there = dirname(there)
  const { bavail, blocks, bsize } = await statfs(there)
  const free = bavail * bsize
  const words = `${sizeWords(free)} of ${sizeWords(blocks * bsize)} free for ${dataDir}.`
  if (free < MIN_BYTES / 4) return fail(words, 'Free up space before the database stops.')
  if (free < MIN_BYTES || bavail < blocks * MIN_PART)
    return warn(words, 'Free up space, or lower UK_REQUEST_RETENTION_DAYS.')
  return ok(words)
}
