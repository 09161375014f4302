import { createHash } from 'node:crypto'
import { chmodSync, lstatSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { takeLock } from '../lock.ts'

const LONGEST = 107

/** Created for its owner only. */
export function makeFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const stats = lstatSync(folder)
  if (!stats.isDirectory() || stats.uid !== userInfo().uid) throw new Error(`${folder} belongs to somebody else`)
  chmodSync(folder, 0o700)
}

/** Returns the socket's path: in the keeper's folder or, if that is too long, in a short private folder. */
export function socketPath(folder: string): string {
  const beside = join(folder, 'keeper.sock')
  if (Buffer.byteLength(beside) <= LONGEST) return beside
  const short = join(process.env['XDG_RUNTIME_DIR'] ?? tmpdir(), `ukiyo-${userInfo().uid}`)
  makeFolder(short)
  return join(short, `${createHash('sha256').update(folder).digest('hex').slice(0, 16)}.sock`)
}

const addressFile = (folder: string): string => join(folder, 'keeper.address')

/** Returns the running keeper's address. Its environment may differ from the caller's, and so may its short folder. */
export function addressOf(folder: string): string {
  try {
    return readFileSync(addressFile(folder), 'utf8')
  } catch {
    return socketPath(folder)
  }
}

export function noteAddress(folder: string, path: string): void {
  const fresh = `${addressFile(folder)}.${process.pid}`
  writeFileSync(fresh, path, { mode: 0o600 })
  renameSync(fresh, addressFile(folder))
}

/** Locks the folder for this process. False while another keeper runs in it. The same process may lock it again. */
export const takePlace = (folder: string): boolean => takeLock(join(folder, 'keeper.lock'), { again: true }) !== null
