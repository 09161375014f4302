/**
 * Per platform: a bundle and the terminal addon, listed in a `sha256sum` manifest whose SHA-256 identifies the release.
 */
import { createHash, randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { chmod, mkdir, mkdtemp, readFile, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Log } from '#infra/log.ts'
import { PLATFORMS, type Platform, addonFolder } from './addons.ts'
import { bundle, isFolder, hashSources } from './bundle.ts'

export interface Release {
  version: string
  /** The manifest's hash. */
  sha256: string
  /** All files, in bytes. */
  size: number
  manifest: string
}

export interface File {
  path: string
  size: number
  sha256: string
  modifiedAt: Date
}

export interface Releases {
  /** Throws with a reason for the operator. */
  of(platform: string): Promise<Release>
  /** The Node binary for machines without one. */
  node(platform: string): Promise<File | null>
  /** Also finds manifests. */
  file(sha256: string): Promise<File | null>
}

/** The delay before retrying a failed platform. */
const RETRY_MS = 600_000
const ROOT = resolve(import.meta.dirname, '../../../..')
const MAIN = 'src/interfaces/cli/commands/computer-program.ts'
const BUNDLE = 'uk.mjs'

interface Parts {
  dataDir: string
  log: Log
  /** Another clone, for tests. */
  root?: string
}

export function createReleases({ dataDir, log, root = ROOT }: Parts): Releases {
  const place = join(dataDir, 'install')
  const files = new Map<string, File>()
  const releasesByPlatform = new Map<string, { release: Promise<Release>; until: number }>()
  let bundled: Promise<string> | null = null
  let node: Promise<File> | null = null
  let lookup: Promise<void> | null = null

  async function make(platform: Platform, bring: boolean): Promise<Release> {
    bundled ??= placeBundle(root, join(place, 'programs'))
    bundled.catch(() => (bundled = null))
    const addons = await addonFolder(platform, { root: ROOT, place: join(place, 'addons'), bring })
    if (addons === null) throw new Error('it is not here')
    const names = ['pty.node', 'spawn-helper']
    const there = (await readdir(addons)).filter((name) => names.includes(name)).map((name) => join(addons, name))
    const releaseFiles = await Promise.all([join(await bundled, BUNDLE), ...there.toSorted()].map(fileAt))
    for (const file of releaseFiles) files.set(file.sha256, file)
    const manifest = releaseFiles
      .map(({ sha256, path }) => `${sha256}  ${path.slice(path.lastIndexOf('/') + 1)}\n`)
      .join('')
    const sha256 = createHash('sha256').update(manifest).digest('hex')
    files.set(sha256, await placeManifest(join(place, 'manifests'), sha256, manifest))
    const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string }
    return { version, sha256, size: releaseFiles.reduce((sum, { size }) => sum + size, 0), manifest }
  }

  const releases: Releases = {
    of(platform) {
      if (!isPlatform(platform))
        throw new Error(`there is no program for ${platform}: only for ${PLATFORMS.join(', ')}`)
      const cached = releasesByPlatform.get(platform)
      if (cached !== undefined && cached.until > Date.now()) return cached.release
      const release = make(platform, true)
      releasesByPlatform.set(platform, { release, until: Infinity })
      release.catch((error: unknown) => {
        log.warn({ error, platform }, 'there is no program for computers of this platform')
        releasesByPlatform.set(platform, { release, until: Date.now() + RETRY_MS })
      })
      return release
    },

    async node(platform) {
      if (platform !== `${process.platform}-${process.arch}`) return null
      node ??= fileAt(process.execPath)
      node.catch(() => (node = null))
      const file = await node
      files.set(file.sha256, file)
      return file
    },

    async file(sha256) {
      const file = files.get(sha256)
      if (file !== undefined || !/^[0-9a-f]{64}$/.test(sha256)) return file ?? null
      // Another process may have added it. Misses share one lookup.
      await (lookup ??= look().finally(() => (lookup = null)))
      return files.get(sha256) ?? null
    },
  }
  async function look(): Promise<void> {
    await releases.node(`${process.platform}-${process.arch}`)
    for (const platform of PLATFORMS) if (!releasesByPlatform.has(platform)) await make(platform, false).catch(() => {})
  }
  return releases
}

const isPlatform = (words: string): words is Platform => (PLATFORMS as readonly string[]).includes(words)

async function fileAt(path: string): Promise<File> {
  const hash = createHash('sha256')
  for await (const part of createReadStream(path)) hash.update(part as Buffer)
  const { size, mtime } = await stat(path)
  return { path, size, sha256: hash.digest('hex'), modifiedAt: mtime }
}

/** HELLO refers to the manifest by its hash. */
async function placeManifest(place: string, sha256: string, manifest: string): Promise<File> {
  const path = join(place, sha256)
  const fresh = `${path}.${randomUUID()}`
  await mkdir(place, { recursive: true, mode: 0o700 })
  await writeFile(fresh, manifest, { mode: 0o600 })
  await rename(fresh, path)
  return fileAt(path)
}

/** Machines may still be downloading previous bundles. */
const MAX_BUNDLES = 3

/** Processes may create it concurrently. */
async function placeBundle(root: string, place: string): Promise<string> {
  const target = join(place, await hashSources(['src', 'packages', 'package.json'].map((name) => join(root, name))))
  if (await isFolder(target)) return target
  await mkdir(place, { recursive: true, mode: 0o700 })
  const making = await mkdtemp(join(place, 'making-'))
  try {
    await bundle(join(root, MAIN), join(making, BUNDLE))
    await chmod(join(making, BUNDLE), 0o444)
    await rename(making, target).catch(async (error: unknown) => {
      if (!(await isFolder(target))) throw error
    })
  } finally {
    await rm(making, { recursive: true, force: true })
  }
  const others = (await readdir(place)).filter((name) => /^[0-9a-f]{24}$/.test(name) && join(place, name) !== target)
  const aged = await Promise.all(others.map(async (name) => ({ name, at: (await stat(join(place, name))).mtimeMs })))
  for (const { name } of aged.toSorted((a, b) => b.at - a.at).slice(MAX_BUNDLES))
    await rm(join(place, name), { recursive: true, force: true })
  return target
}
