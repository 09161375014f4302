import { createReadStream } from 'node:fs'
import { readFile, readdir, stat } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { parseId } from '#core/ids.ts'
import { BackupRefused } from './refused.ts'
import { type Manifest, type ReadManifest, readManifest } from './manifest.ts'
import { type Verdict, judgeSignature } from './signature.ts'
import { MANIFEST, STAMP, blobName, stampOf } from './target.ts'
import { openTar } from './tar.ts'

export interface Source extends AsyncDisposable {
  path: string
  manifest: Manifest
  judge(rootKeys: readonly string[]): Verdict
  read(name: string): AsyncIterable<Uint8Array>
  /** Throws `BackupRefused` before the first chunk if the blob is missing. */
  readBlob(sha256: string): AsyncIterable<Uint8Array>
}

/**
 * Opens a backup: a `.tar`, a backup's folder, or a folder of backups (the newest complete one). Throws if it contains
 * several instances.
 */
export async function openSource(path: string): Promise<Source> {
  const stats = await stat(path).catch(() => null)
  if (stats === null) throw new BackupRefused(`${path} doesn’t exist`)
  if (!stats.isDirectory()) return tarSource(path)
  const folder = (await isWhole(path)) ? path : await newestIn(path)
  if (folder !== null) return folderSource(folder)
  throw new BackupRefused(`${path} doesn’t contain a complete backup: ${MANIFEST}, which is written last, is missing`)
}

const isWhole = async (folder: string): Promise<boolean> =>
  (await stat(join(folder, MANIFEST)).catch(() => null)) !== null

export async function backupsIn(folder: string): Promise<string[]> {
  const whole: string[] = []
  for (const name of (await readdir(folder)).toSorted())
    if (STAMP.test(name) && (await isWhole(join(folder, name)))) whole.push(join(folder, name))
  return whole
}

async function newestIn(folder: string): Promise<string | null> {
  const others = (await readdir(folder)).filter((name) => parseId(name) === name).map((name) => join(folder, name))
  const names: string[] = []
  for (const one of [folder, ...others]) {
    const newest = (await backupsIn(one)).at(-1)
    if (newest !== undefined) names.push(newest)
  }
  if (names.length > 1)
    throw new BackupRefused(
      `${folder} contains backups of ${names.length} instances. Choose one of them. The newest of each: ${names.join(', ')}`,
    )
  return names[0] ?? null
}

export const manifestIn = async (folder: string): Promise<Manifest> => (await readIn(folder)).manifest

const readIn = async (folder: string): Promise<ReadManifest> =>
  readManifest(await readFile(join(folder, MANIFEST)), folder)

const judgeOf =
  ({ words, signature }: ReadManifest): Source['judge'] =>
  (rootKeys) =>
    judgeSignature(words, signature, rootKeys)

async function folderSource(folder: string): Promise<Source> {
  const manifestInfo = await readIn(folder)
  const { manifest } = manifestInfo
  // The newest backup is found by name, so a renamed old one must not pass for it.
  const [name, stamp] = [basename(resolve(folder)), stampOf(new Date(manifest.at))]
  if (STAMP.test(name) && name !== stamp)
    throw new BackupRefused(`${folder} contains a backup from ${manifest.at}. To restore it, rename it to ${stamp}`)
  const read = (name: string, within = folder): AsyncIterable<Uint8Array> => partsOf(join(within, name), name)
  return {
    path: folder,
    manifest,
    judge: judgeOf(manifestInfo),
    read,
    readBlob: (sha256) => read(blobName(sha256), join(folder, '..')),
    async [Symbol.asyncDispose]() {},
  }
}

async function* partsOf(path: string, name: string): AsyncGenerator<Uint8Array> {
  const stream = createReadStream(path, { highWaterMark: 1 << 20 })
  try {
    yield* stream as AsyncIterable<Uint8Array>
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ENOENT' ? missing(name) : error
  }
}

const missing = (name: string): BackupRefused =>
  new BackupRefused(`${name} is missing in this backup. Create a new backup`)

async function tarSource(path: string): Promise<Source> {
  await using stack = new AsyncDisposableStack()
  const tar = stack.use(await openTar(path))
  const read = (name: string): AsyncIterable<Uint8Array> => {
    const entry = tar.entries.get(name)
    if (entry === undefined) throw missing(name)
    return tar.read(entry)
  }
  if (!tar.entries.has(MANIFEST))
    throw new BackupRefused(`${path} isn’t a complete backup: ${MANIFEST}, which is written last, is missing`)
  const manifest = readManifest(Buffer.concat(await Array.fromAsync(read(MANIFEST))), path)
  const running = stack.move()
  return {
    path,
    manifest: manifest.manifest,
    judge: judgeOf(manifest),
    read,
    readBlob: (sha256) => read(blobName(sha256)),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}
