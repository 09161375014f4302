/**
 * Installed versions of this program, in one folder of its owner: `versions/<release>/`, `current` (a symlink to
 * the active one) and `node`.
 */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, readFile, readdir, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { z } from 'zod'
import { shorten } from '#core/text/shorten.ts'

/** A release is named by the SHA-256 of its manifest. */
export interface Version {
  place: string
  release: string
}

const RELEASE = /^[0-9a-f]{64}$/
const NAMES = ['uk.mjs', 'pty.node', 'spawn-helper'] as const
const NEEDED = ['uk.mjs', 'pty.node'] as const

export interface ManifestRow {
  sha256: string
  name: (typeof NAMES)[number]
}

export function versionAt(folder: string): Version | null {
  const release = basename(folder)
  const versions = dirname(folder)
  return RELEASE.test(release) && basename(versions) === 'versions' ? { place: dirname(versions), release } : null
}

export const folderOf = ({ place, release }: Version): string => join(place, 'versions', release)

/** Parses a manifest in the format of `sha256sum`: hash, two spaces, name. Null if invalid. */
export function readManifest(text: string): ManifestRow[] | null {
  const rows = text
    .split('\n')
    .slice(0, -1)
    .map((line) => /^([0-9a-f]{64}) {2}(.+)$/.exec(line))
    .map((match) => ({ sha256: match?.[1] ?? '', name: (match?.[2] ?? '') as ManifestRow['name'] }))
  const names = rows.map(({ name }) => name)
  const fits =
    text.endsWith('\n') &&
    names.every((name) => NAMES.includes(name)) &&
    new Set(names).size === names.length &&
    NEEDED.every((name) => names.includes(name))
  return fits ? rows : null
}

export const hashOf = (bytes: Uint8Array | string): string => createHash('sha256').update(bytes).digest('hex')

async function hashOfFile(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const part of createReadStream(path)) hash.update(part as Buffer)
  return hash.digest('hex')
}

export async function isWhole(version: Version): Promise<boolean> {
  const folder = folderOf(version)
  try {
    const text = await readFile(join(folder, 'manifest'), 'utf8')
    if (hashOf(text) !== version.release) return false
    for (const { sha256, name } of readManifest(text) ?? [])
      if ((await hashOfFile(join(folder, name))) !== sha256) return false
    return true
  } catch {
    return false
  }
}

export async function makeCurrent({ place, release }: Version): Promise<void> {
  const fresh = join(place, `current.${process.pid}`)
  await rm(fresh, { force: true })
  await symlink(join('versions', release), fresh)
  await rename(fresh, join(place, 'current'))
  await using folder = await open(place, 'r')
  await folder.sync()
}

/** A keeper may run from an older version, and on macOS starts terminals with that version's helper. */
const KEPT = 5
const ABANDONED_MS = 3_600_000

/** Removes all but this and the newest few versions, and unfinished downloads. */
export async function forgetOthers({ place, release }: Version): Promise<void> {
  const versions = join(place, 'versions')
  const versionsByAge = await Promise.all(
    (await readdir(versions)).map(async (name) => ({ name, at: (await stat(join(versions, name))).mtimeMs })),
  )
  const others = versionsByAge
    .filter(({ name }) => RELEASE.test(name) && name !== release)
    .toSorted((a, b) => b.at - a.at)
  const unfinished = versionsByAge.filter(({ name, at }) => !RELEASE.test(name) && at < Date.now() - ABANDONED_MS)
  for (const { name } of [...others.slice(KEPT - 1), ...unfinished])
    await rm(join(versions, name), { recursive: true, force: true })
}

const Failed = z.object({ sha256: z.string(), why: z.string().max(500), at: z.iso.datetime() })
export type Failed = z.infer<typeof Failed>

const failedFile = (place: string): string => join(place, 'failed.json')

/** The release that failed most recently. Null if none failed within a day. */
export async function readFailed(place: string): Promise<Failed | null> {
  const text = await readFile(failedFile(place), 'utf8').catch(() => 'null')
  try {
    const failed = Failed.parse(JSON.parse(text))
    return Date.parse(failed.at) > Date.now() - FORGOTTEN_MS ? failed : null
  } catch {
    return null
  }
}

/** A failed release is retried after a day, since the machine may have been at fault. */
const FORGOTTEN_MS = 86_400_000

export const noteFailed = (place: string, sha256: string, why: string): Promise<void> =>
  writeFile(
    failedFile(place),
    JSON.stringify({ sha256, why: shorten(why, 500), at: new Date().toISOString() } satisfies Failed),
    { mode: 0o600 },
  )
