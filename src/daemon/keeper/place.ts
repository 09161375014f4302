/** The place of a keeper on disk, and the check that there is one at a time. */
import { createHash } from 'node:crypto'
import { chmodSync, lstatSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { takeLock } from '../lock.ts'

/** The longest path that a unix socket can have. */
const LONGEST = 107

/** The folder is made for its owner alone. */
export function makeFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const found = lstatSync(folder)
  if (!found.isDirectory() || found.uid !== userInfo().uid) throw new Error(`${folder} belongs to somebody else`)
  chmodSync(folder, 0o700)
}

/** The socket's path: in the keeper's folder, or where that is too long, in a short folder that is the user's alone. */
export function socketPath(folder: string): string {
  const beside = join(folder, 'keeper.sock')
  if (Buffer.byteLength(beside) <= LONGEST) return beside
  const short = join(process.env['XDG_RUNTIME_DIR'] ?? tmpdir(), `ukiyo-${userInfo().uid}`)
  makeFolder(short)
  return join(short, `${createHash('sha256').update(folder).digest('hex').slice(0, 16)}.sock`)
}

const addressFile = (folder: string): string => join(folder, 'keeper.address')

/**
 * The address at which the keeper that lives there listens. It may have other surroundings than whoever asks, and so
 * another short folder.
 */
export function addressOf(folder: string): string {
  try {
    return readFileSync(addressFile(folder), 'utf8')
  } catch {
    return socketPath(folder)
  }
}

/** Says where this keeper listens from now on. */
export function noteAddress(folder: string, path: string): void {
  const fresh = `${addressFile(folder)}.${process.pid}`
  writeFileSync(fresh, path, { mode: 0o600 })
  renameSync(fresh, addressFile(folder))
}

/** Takes the folder for this process; false while another keeper lives in it. The same process may take it again. */
export const takePlace = (folder: string): boolean => takeLock(join(folder, 'keeper.lock'), { again: true }) !== null
