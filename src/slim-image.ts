/**
 * `bin/run src/slim-image.ts`, used by the Dockerfile: builds the app and strips a clone down to what a server needs.
 * Removes packages used only to build the app and files that no program reads (source maps, type declarations, compiler
 * tools). Writes the licenses of what remains.
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

function listPackages(folder: string): string[] {
  const { dependencies = {}, optionalDependencies = {} } = manifestIn(folder)
  const sources = globSync('{src,packages/*/src}/**/*.ts', { cwd: folder }).filter(
    (path) => !/\.(test|long)\.ts$/.test(path),
  )
  const quotedNames = new Set<string>()
  for (const path of sources)
    for (const [, name] of readFileSync(join(folder, path), 'utf8').matchAll(/['"`]((?:@[\w.-]+\/)?[\w.-]+)[/'"`]/g))
      quotedNames.add(name!)
  return [...Object.keys(dependencies).filter((name) => quotedNames.has(name)), ...Object.keys(optionalDependencies)]
}

function resolvePackage(name: string, from: string): string | null {
  for (let folder = from; ; folder = dirname(folder)) {
    const place = join(folder, 'node_modules', name)
    if (existsSync(join(place, 'package.json'))) return realpathSync(place)
    if (folder === dirname(folder)) return null
  }
}

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

function thin(folder: string): void {
  const packages = findReachablePackages(folder)
  const modules = join(folder, 'node_modules')
  const names = readdirSync(modules).flatMap((name) =>
    name.startsWith('@') ? readdirSync(join(modules, name)).map((own) => join(name, own)) : [name],
  )
  // Dot names aren't packages: they record the installation.
  for (const name of names) if (!name.startsWith('.') && !packages.has(join(modules, name))) remove(join(modules, name))
  for (const path of globSync(UNREAD, { cwd: modules })) remove(join(modules, path))
  for (const own of globSync('node-linux-*/{include,share,lib}', { cwd: modules })) remove(join(modules, own))
  for (const own of ['.cache', '.bin']) remove(join(modules, own))
}

if (import.meta.main) {
  if (existsSync(join(root, '.git')) || existsSync(join(root, 'node_modules/.installed-all')))
    throw new Error('This is a clone that somebody works in: src/slim-image.ts would take its sources and tools away.')
  // A build's handles don't keep the process alive.
  const waiting = setInterval(() => {}, 1_000)
  const buildDir = await buildApp(tmpdir())
  clearInterval(waiting)
  // Before the license files are removed. The licenses for browser code are part of the built app.
  writeFileSync(join(root, 'THIRD-PARTY-LICENCES.txt'), licencesText(findReachablePackages(root)))
  remove(join(root, 'web'))
  cpSync(buildDir, join(root, 'web/dist'), { recursive: true })
  thin(root)
  // Otherwise the server, which can't write here, would copy PostgreSQL into its data folder.
  repairLinks(findPackage().root)
}
