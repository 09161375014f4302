/**
 * `bin/run src/slim-image.ts`: builds the app, and leaves of a clone only what a server runs with: of the Dockerfile. The packages that
 * only the app is built from go, and what no program reads: maps, declarations of types, what compilers need. The licences of what stays are written beside it.
 */
import { cpSync, existsSync, globSync, readFileSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { findPackage, repairLinks } from '#infra/postgres/embedded/binaries.ts'
import { buildApp } from '#interfaces/app/build.ts'
import { licencesText } from '#interfaces/app/licences/licences.ts'

const root = join(import.meta.dirname, '..')
const UNREAD = '**/{*.{a,map,d.ts,d.mts,d.cts},{README,CHANGELOG,HISTORY}.md}'

interface Manifest {
  dependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
  peerDependencies?: Record<string, string>
  peerDependenciesMeta?: Record<string, { optional?: boolean }>
}

const manifestIn = (folder: string): Manifest => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
const remove = (path: string): void => rmSync(path, { recursive: true, force: true })

/** The names of packages that the sources of the server name in quotes, and those that are chosen by the machine. */
function listPackages(folder: string): string[] {
  const { dependencies = {}, optionalDependencies = {} } = manifestIn(folder)
  const sources = globSync('src/**/*.ts', { cwd: folder }).filter((path) => !/\.(test|long)\.ts$/.test(path))
  const quotedNames = new Set<string>()
  for (const path of sources)
    for (const [, name] of readFileSync(join(folder, path), 'utf8').matchAll(/['"`]((?:@[\w.-]+\/)?[\w.-]+)[/'"`]/g))
      quotedNames.add(name!)
  return [...Object.keys(dependencies).filter((name) => quotedNames.has(name)), ...Object.keys(optionalDependencies)]
}

/** Where Node finds a package that something in this folder asks for: beside it, or beside a folder above. */
function resolvePackage(name: string, from: string): string | null {
  for (let folder = from; ; folder = dirname(folder)) {
    const place = join(folder, 'node_modules', name)
    if (existsSync(join(place, 'package.json'))) return realpathSync(place)
    if (folder === dirname(folder)) return null
  }
}

/** The folders of all packages that a server of this clone may load. */
export function findReachablePackages(folder: string): Set<string> {
  const packages = new Set<string>()
  const walk = (names: readonly string[], from: string): void => {
    for (const name of names) {
      const place = resolvePackage(name, from)
      if (place === null || packages.has(place)) continue
      packages.add(place)
      const { dependencies, optionalDependencies, peerDependencies = {}, peerDependenciesMeta } = manifestIn(place)
      const peers = Object.keys(peerDependencies).filter((peer) => peerDependenciesMeta?.[peer]?.optional !== true)
      walk([...Object.keys({ ...dependencies, ...optionalDependencies }), ...peers], place)
    }
  }
  walk(listPackages(folder), folder)
  return packages
}

/** Removes the packages that are not reached, and what is unread of the others. */
function thin(folder: string): void {
  const packages = findReachablePackages(folder)
  const modules = join(folder, 'node_modules')
  const names = readdirSync(modules).flatMap((name) =>
    name.startsWith('@') ? readdirSync(join(modules, name)).map((own) => join(name, own)) : [name],
  )
  // Those that begin with a dot are not packages: what says which dependencies are there.
  for (const name of names) if (!name.startsWith('.') && !packages.has(join(modules, name))) remove(join(modules, name))
  for (const path of globSync(UNREAD, { cwd: modules })) remove(join(modules, path))
  for (const own of globSync('node-linux-*/{include,share,lib}', { cwd: modules })) remove(join(modules, own))
  for (const own of ['.cache', '.bin']) remove(join(modules, own))
}

if (import.meta.main) {
  if (existsSync(join(root, '.git')) || existsSync(join(root, 'node_modules/.installed-all')))
    throw new Error('This is a clone that somebody works in: src/slim-image.ts would take its sources and tools away.')
  // A build keeps no server from ending, and so not this program.
  const waiting = setInterval(() => {}, 1_000)
  const buildDir = await buildApp(tmpdir())
  clearInterval(waiting)
  // Before what says it is taken away. Those of what browsers are served lie in the built app.
  writeFileSync(join(root, 'THIRD-PARTY-LICENCES.txt'), licencesText(findReachablePackages(root)))
  remove(join(root, 'web'))
  cpSync(buildDir, join(root, 'web/dist'), { recursive: true })
  thin(root)
  // Else the server, which may not write here, would copy PostgreSQL into its data.
  repairLinks(findPackage().root)
}
