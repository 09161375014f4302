import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Writable } from 'node:stream'
import { newId } from '#core/ids.ts'
import { syncFolder, writeAll } from '../../durable-files.ts'
import { END, headerOf, paddingOf } from './tar.ts'
import { BackupRefused } from './refused.ts'

export interface Target extends AsyncDisposable {
  readonly atOnce: number
  put(name: string, bytes: Uint8Array): Promise<void>
  hasBlob(sha256: string, size: number): Promise<boolean>
  putBlob(sha256: string, size: number, source: AsyncIterable<Uint8Array>): Promise<void>
  finish(manifest: Buffer): Promise<string>
}

export class WrongBytes extends Error {}

export const MANIFEST = 'manifest.json'
const PARTIAL = '.partial'
export const blobName = (sha256: string): string => `blobs/${sha256.slice(0, 2)}/${sha256}`

export const isFolder = (to: string): boolean => to !== '-' && !to.endsWith('.tar')

/** `-` is standard output, a name ending in `.tar` a file, anything else a folder of backups. */
export async function openTarget(to: string, at: Date): Promise<Target> {
  if (to === '-') return tarTarget(process.stdout, { finish: async () => 'standard output', abort: async () => {} }, at)
  return isFolder(to) ? folderTarget(to, at) : fileTarget(to, at)
}

export const cannotWrite =
  (path: string) =>
  (error: NodeJS.ErrnoException): never => {
    throw new BackupRefused(
      error.code === 'ENOSPC' || error.code === 'EDQUOT'
        ? `there is no space left on the disk of ${path}. The incomplete backup was removed`
        : `${path} can’t be written: ${error.message}`,
    )
  }

/** `20261123T020000Z`. Sorts chronologically. */
export const stampOf = (at: Date): string => at.toISOString().replaceAll(/[-:]|\.\d+/g, '')
export const STAMP = /^\d{8}T\d{6}Z$/

/** `{to}/{stamp}` for each backup's data, `{to}/blobs` for file contents shared by all. */
async function folderTarget(to: string, at: Date): Promise<Target> {
  const onError = cannotWrite(to)
  const final = join(to, stampOf(at))
  const partial = `${final}${PARTIAL}`
  await mkdir(join(to, 'blobs'), { recursive: true, mode: 0o700 }).catch(onError)
  // Leftovers of killed backups. Only one backup runs at a time.
  for (const name of await readdir(to))
    if (name.endsWith(PARTIAL) && STAMP.test(basename(name, PARTIAL)))
      await rm(join(to, name), { recursive: true, force: true })
  for (const name of await readdir(join(to, 'blobs')).catch(() => []))
    if (name.startsWith('incoming-')) await rm(join(to, 'blobs', name), { force: true })
  if (await stat(final).catch(() => null)) throw new BackupRefused(`${final} already exists`)
  await mkdir(partial, { mode: 0o700 }).catch(onError)
  await mkdir(join(partial, 'database'), { mode: 0o700 }).catch(onError)
  let isFinished = false
  // Creates no folder: if earlier files were removed, the rest must not become a backup.
  const put = (name: string, bytes: Uint8Array): Promise<void> => writeParts(join(partial, name), [bytes])
  return {
    atOnce: 8,
    put: (name, bytes) => put(name, bytes).catch(onError),
    async hasBlob(sha256, size) {
      return (await stat(join(to, blobName(sha256))).catch(() => null))?.size === size
    },
    async putBlob(sha256, size, source) {
      const path = join(to, blobName(sha256))
      const incoming = join(to, 'blobs', `incoming-${newId()}`)
      try {
        await mkdir(dirname(path), { recursive: true, mode: 0o700 }).catch(onError)
        await writeParts(incoming, checkSize(sha256, size, source), onError)
        await rename(incoming, path).catch(onError)
      } catch (error) {
        await rm(incoming, { force: true })
        throw error
      }
    },
    async finish(manifest) {
      await put(MANIFEST, manifest).catch(onError)
      await syncFolder(partial)
      await rename(partial, final).catch(onError)
      await syncFolder(to)
      isFinished = true
      return final
    },
    async [Symbol.asyncDispose]() {
      if (!isFinished) await rm(partial, { recursive: true, force: true })
    },
  }
}

async function fileTarget(to: string, at: Date): Promise<Target> {
  const onError = cannotWrite(to)
  if (await stat(to).catch(() => null))
    throw new BackupRefused(`${to} already exists, and backups don’t overwrite files`)
  const partial = `${to}${PARTIAL}`
  await rm(partial, { force: true }).catch(onError)
  const file = await open(partial, 'wx', 0o600).catch(onError)
  const stream = createWriteStream('', { fd: file, highWaterMark: 4 << 20, autoClose: false })
  return tarTarget(
    stream,
    {
      async finish() {
        await file.sync().catch(onError)
        await file.close()
        await rename(partial, to).catch(onError)
        await syncFolder(dirname(to))
        return to
      },
      async abort() {
        stream.destroy()
        await file.close().catch(() => {})
        await rm(partial, { force: true })
      },
    },
    at,
    onError,
  )
}

function tarTarget(
  out: Writable,
  { finish, abort }: { finish: () => Promise<string>; abort: () => Promise<void> },
  at: Date,
  onError = cannotWrite('standard output'),
): Target {
  const seconds = Math.floor(at.getTime() / 1000)
  let failure: NodeJS.ErrnoException | null = null
  out.on('error', (error) => (failure = error))
  const write = async (bytes: Uint8Array): Promise<void> => {
    if (failure) onError(failure)
    await new Promise<void>((resolve, reject) =>
      out.write(bytes, (error) => (error ? reject(error) : resolve())),
    ).catch(onError)
  }
  const put = async (name: string, bytes: Uint8Array): Promise<void> => {
    await write(Buffer.concat([headerOf(name, bytes.length, seconds), bytes, paddingOf(bytes.length)]))
  }
  const names = new Set<string>()
  let isFinished = false
  return {
    atOnce: 1,
    put,
    hasBlob: async (sha256) => names.has(sha256),
    async putBlob(sha256, size, source) {
      let hasStarted = false
      try {
        // An unreadable blob must not take up space in the archive.
        for await (const part of checkSize(sha256, size, source, 'padded')) {
          if (!hasStarted) await write(headerOf(blobName(sha256), size, seconds))
          hasStarted = true
          await write(part)
        }
        if (!hasStarted) await write(headerOf(blobName(sha256), 0, seconds))
        names.add(sha256)
      } finally {
        if (hasStarted && failure === null) await write(paddingOf(size))
      }
    },
    async finish(manifest) {
      await put(MANIFEST, manifest)
      await write(END)
      const where = await finish()
      isFinished = true
      return where
    },
    async [Symbol.asyncDispose]() {
      if (!isFinished) await abort()
    },
  }
}

/**
 * Yields exactly `size` bytes and throws at the end if the hash differs. `padded`: pads or truncates first, because the
 * archive header already states the size.
 */
async function* checkSize(
  sha256: string,
  size: number,
  source: AsyncIterable<Uint8Array>,
  padding?: 'padded',
): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256')
  let remaining = size
  let wrong = false
  try {
    for await (const part of source) {
      const some = part.subarray(0, remaining)
      wrong ||= some.length < part.length
      hash.update(some)
      remaining -= some.length
      yield some
    }
  } catch (error) {
    if (padding === undefined || remaining === size) throw error
    wrong = true
  }
  if (remaining > 0 && padding !== undefined)
    for (; remaining > 0; remaining -= Math.min(remaining, 1 << 20)) yield Buffer.alloc(Math.min(remaining, 1 << 20))
  if (wrong || remaining > 0 || hash.digest('hex') !== sha256) throw new WrongBytes(`the bytes of ${sha256} are others`)
}

async function writeParts(
  path: string,
  parts: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  onError?: (error: NodeJS.ErrnoException) => never,
): Promise<void> {
  const file: FileHandle = onError ? await open(path, 'wx', 0o600).catch(onError) : await open(path, 'wx', 0o600)
  try {
    for await (const part of parts) {
      const writing = writeAll(file, part)
      await (onError ? writing.catch(onError) : writing)
    }
    await file.datasync()
  } finally {
    await file.close()
  }
}
