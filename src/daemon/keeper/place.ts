/** Where a keeper lives on disk, and that there is one at a time. */
import { createHash } from 'node:crypto'
import { chmodSync, linkSync, lstatSync, mkdirSync, readFileSync, renameSync, unlinkSync, writeFileSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { isAlive, statOf } from './processes/proc.ts'

/** The longest path that a unix socket can have. */
const LONGEST = 107

/** The folder is made for its owner alone. */
export function makeFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const found = lstatSync(folder)
  if (!found.isDirectory() || found.uid !== userInfo().uid) throw new Error(`${folder} belongs to somebody else`)
  chmodSync(folder, 0o700)
}

/** In the keeper's folder; where its path is too long, in a short folder that is the user's alone. */
export function socketPath(folder: string): string {
  const beside = join(folder, 'keeper.sock')
  if (Buffer.byteLength(beside) <= LONGEST) return beside
  const short = join(process.env['XDG_RUNTIME_DIR'] ?? tmpdir(), `ukiyo-${userInfo().uid}`)
  makeFolder(short)
  return join(short, `${createHash('sha256').update(folder).digest('hex').slice(0, 16)}.sock`)
}

/** Takes the folder for this process; false while another keeper lives in it. The same process may take it again. */
export function takePlace(folder: string): boolean {
  const lock = join(folder, 'keeper.lock')
  const mine = `${process.pid} ${startOf(process.pid)}`
  const written = `${lock}.${process.pid}`
  writeFileSync(written, mine, { mode: 0o600 })
  try {
    for (;;) {
      try {
        linkSync(written, lock)
        return true
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      }
      const holder = read(lock)
      if (holder === mine) return true
      if (holder !== null && lives(holder)) return false
      // Whoever takes away a dead one's lock makes sure that it is that one.
      const dead = `${written}.dead`
      try {
        renameSync(lock, dead)
      } catch {
        continue
      }
      if (read(dead) !== holder) linkSync(dead, lock)
      unlinkSync(dead)
    }
  } finally {
    unlinkSync(written)
  }
}

const startOf = (pid: number): string => statOf(pid)?.started ?? ''

function lives(holder: string): boolean {
  const [pid = '', started = ''] = holder.split(' ')
  if (started !== '') return isAlive(Number(pid), started)
  try {
    return process.kill(Number(pid), 0)
  } catch {
    return false
  }
}

function read(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return null
  }
}
