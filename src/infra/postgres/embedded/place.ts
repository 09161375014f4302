import { createHash } from 'node:crypto'
import { chmodSync, chownSync, lstatSync, mkdirSync, readdirSync, realpathSync, renameSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { StartRefused } from '../../start-refused.ts'
import { canPass, findUser, type OsUser } from './user.ts'

export interface Place {
  cluster: string
  link: string | null
  user: OsUser | null
}

/**
 * The cluster is `{dataDir}/postgres`. If its account can't reach that (a clone under a 0700 home, started as root), it
 * is in `/var/lib/ukiyo/{hash of the data dir}`, and `{dataDir}/postgres` links to it, so a moved data directory still
 * finds it. `dataDir` must exist and be a real path. Throws `StartRefused`.
 */
export function placeCluster(dataDir: string, user: OsUser | null, log: (line: string) => void): Place {
  const path = join(dataDir, 'postgres')
  const stats = lstatSync(path, { throwIfNoEntry: false })
  if (stats) return existing(path, dataDir, user, log)
  if (!user || letPass(dataDir, user)) return { cluster: path, link: null, user }
  const home = join('/var/lib/ukiyo', createHash('sha256').update(dataDir).digest('hex').slice(0, 16))
  mkdirSync(home, { recursive: true, mode: 0o755 })
  if (!canPass(user, home))
    throw new StartRefused(
      `the user ${user.name} can access neither ${dataDir} nor ${home}. Set UK_DATA_DIR to a folder it can access`,
    )
  setAside(join(home, 'postgres'), log)
  log(`the database is stored in ${home}, because its user ${user.name} can’t access ${dataDir}`)
  return { cluster: join(home, 'postgres'), link: path, user }
}

function existing(path: string, dataDir: string, user: OsUser | null, log: (line: string) => void): Place {
  const entry = statSync(path, { throwIfNoEntry: false })
  if (!entry)
    throw new StartRefused(
      `the database of ${dataDir} is missing: ${path} is a broken link. Restore its target, or remove the link to start with an empty database`,
    )
  const cluster = realpathSync(path)
  if (!user) {
    if (entry.uid === process.getuid?.()) return { cluster, link: null, user }
    const owner = findUser(entry.uid)?.name ?? `uid ${entry.uid}`
    throw new StartRefused(`the database in ${cluster} belongs to ${owner}. Start as that user or as root`)
  }
  if (entry.uid === 0) giveTo(cluster, user)
  // Keeps the original account: a server first started by a user and later by root continues as that user.
  const owner =
    entry.uid === 0 || entry.uid === user.uid ? user : (findUser(entry.uid) ?? { ...entry, name: `uid ${entry.uid}` })
  if (!canPass(owner, dirname(cluster)) && !(dirname(cluster) === dataDir && letPass(dataDir, owner)))
    throw new StartRefused(
      `the database in ${cluster} can’t be accessed by its user ${owner.name}. Change the permissions of its parent folders, or move it`,
    )
  if (dirname(cluster) !== dataDir) log(`the database runs as the user ${owner.name} in ${dirname(cluster)}`)
  return { cluster, link: null, user: owner }
}

/** Lets the account traverse root's data directory without listing it. False if a parent is inaccessible. */
function letPass(dataDir: string, user: OsUser): boolean {
  if (canPass(user, dataDir)) return true
  const dir = statSync(dataDir)
  if (dir.uid !== 0 || !canPass(user, dirname(dataDir))) return false
  if (dir.mode & 0o070) chmodSync(dataDir, (dir.mode & 0o7777) | 0o001)
  else {
    chownSync(dataDir, dir.uid, user.gid)
    chmodSync(dataDir, (dir.mode & 0o7777) | 0o010)
  }
  return true
}

/** The cluster's data directory was deleted: starts a new cluster and keeps the old one. */
function setAside(cluster: string, log: (line: string) => void): void {
  if (!lstatSync(cluster, { throwIfNoEntry: false })) return
  const aside = `${cluster}.${new Date().toISOString().replaceAll(':', '')}`
  renameSync(cluster, aside)
  log(`the old database of a missing data directory was moved to ${aside}`)
}

function giveTo(dir: string, user: OsUser): void {
  chownSync(dir, user.uid, user.gid)
  for (const entry of readdirSync(dir, { withFileTypes: true })) {
    const path = join(dir, entry.name)
    if (entry.isDirectory()) giveTo(path, user)
    else if (entry.isFile()) chownSync(path, user.uid, user.gid)
  }
}
