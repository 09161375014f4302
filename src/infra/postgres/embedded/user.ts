import { spawnSync } from 'node:child_process'
import { readFileSync, statSync, type Stats } from 'node:fs'
import { dirname } from 'node:path'
import { StartRefused } from '../../start-refused.ts'

export interface OsUser {
  uid: number
  gid: number
  name: string
}

/**
 * The account for PostgreSQL, which refuses to run as root: `ukiyo` (created if `useradd` can), otherwise `nobody`.
 * Null if this process isn't root. Names come from /etc/passwd.
 */
export function databaseUser(log: (line: string) => void): OsUser | null {
  if (process.getuid?.() !== 0) return null
  return findUser('ukiyo') ?? makeUser(log) ?? findUser('nobody') ?? refuseRoot()
}

export function findUser(nameOrUid: string | number): OsUser | null {
  const column = typeof nameOrUid === 'number' ? 2 : 0
  for (const line of readFileSync('/etc/passwd', 'utf8').split('\n')) {
    const fields = line.split(':')
    if (fields[column] === String(nameOrUid))
      return { name: fields[0]!, uid: Number(fields[2]), gid: Number(fields[3]) }
  }
  return null
}

/** Checks again regardless of `useradd`'s result: another server may have created the account. */
function makeUser(log: (line: string) => void): OsUser | null {
  const args = ['--system', '--user-group', '--no-create-home', '--shell', '/usr/sbin/nologin', 'ukiyo']
  const { status } = spawnSync('useradd', args, { stdio: 'ignore', timeout: 10_000 })
  if (status === 0) log('created the system user "ukiyo" for the database, which doesn’t run as root')
  return findUser('ukiyo')
}

function refuseRoot(): never {
  throw new StartRefused(
    'PostgreSQL doesn’t run as root, and there is no user "ukiyo" or "nobody". Start as a regular user, or set DATABASE_URL',
  )
}

const read = 4
const pass = 1

/** Only the matching permission class counts, as in path_resolution(7). */
function may(user: OsUser, entry: Stats, need: number): boolean {
  const bits = entry.uid === user.uid ? entry.mode >> 6 : entry.gid === user.gid ? entry.mode >> 3 : entry.mode
  return (bits & need) === need
}

/** Whether the account can traverse `dir` (a real path) and its parents. Null (this process) can. */
export function canPass(user: OsUser | null, dir: string): boolean {
  if (!user) return true
  const above = dirname(dir)
  return may(user, statSync(dir), pass) && (above === dir || canPass(user, above))
}

export const canRun = (user: OsUser | null, path: string): boolean =>
  !user || (may(user, statSync(path), read | pass) && canPass(user, dirname(path)))
