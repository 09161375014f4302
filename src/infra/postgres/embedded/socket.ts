import { chmodSync, chownSync, mkdtempSync, realpathSync, rmdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { StartRefused } from '../../start-refused.ts'
import { canPass, type OsUser } from './user.ts'

/** Part of the socket's name; no port is opened. */
export const port = 5432

const socketName = `.s.PGSQL.${port}`

// sockaddr_un holds 108 bytes including the final zero (unix(7)). PostgreSQL's second file, with `.lock`, may be
// longer.
const longest = 107

/**
 * Creates a folder for the socket (0700, owned by the account) with a short, unguessable path, so no other account can
 * create it first. Throws `StartRefused` if no location works.
 */
export function makeSocketDir(user: OsUser | null): string {
  const attempts: string[] = []
  for (const base of [...(user ? ['/run'] : []), tmpdir(), '/tmp', '/dev/shm']) {
    try {
      const real = realpathSync(base)
      const dir = join(real, 'ukiyo-XXXXXX')
      if (Buffer.byteLength(join(dir, socketName)) > longest || !canPass(user, real))
        throw new Error('too long or shut')
      const tempDir = mkdtempSync(dir.slice(0, -6))
      chmodSync(tempDir, 0o700)
      if (user) chownSync(tempDir, user.uid, user.gid)
      return tempDir
    } catch {
      attempts.push(base)
    }
  }
  throw new StartRefused(
    `no folder for the database’s socket could be created in ${attempts.join(', ')}. Set TMPDIR to a short path`,
  )
}

export function removeSocketDir(dir: string): void {
  if (!/^ukiyo-[A-Za-z0-9]{6}$/.test(basename(dir))) return
  for (const name of [socketName, `${socketName}.lock`]) rmSync(join(dir, name), { force: true })
  try {
    rmdirSync(dir)
  } catch {
    // Already removed, or not empty and therefore not ours.
  }
}
