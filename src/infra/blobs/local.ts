import { createHash } from 'node:crypto'
import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { newId } from '#core/ids.ts'
import { syncFolder, writeAll } from '../durable-files.ts'
import { BlobMissing, type Blobs, HEAD_BYTES, type Range, type StageMore } from './blobs.ts'
import { tooLarge } from './too-large.ts'

/** Read size, two buffers per reader. Larger reads are more efficient, but many readers must fit in memory. */
const PART_BYTES = 256 * 1024
const LARGE_PART_BYTES = 1024 * 1024
const MAX_LARGE = 32
const BLOCK_BYTES = 512 * 1024
const FIRST_BYTES = 16 * 1024

/**
 * A folder: `ab/cd/abcd…` by hash, and `incoming/` for writes in progress. Files are synced before they are renamed,
 * and the folder after, so referenced blobs survive a power failure.
 */
export function localBlobs(root: string): Blobs {
  const incoming = join(root, 'incoming')
  const pathOf = (place: string): string => join(root, place)
  let creation: Promise<unknown> | null = null

  return {
    async stage(source, more = {}) {
      await (creation ??= mkdir(incoming, { recursive: true, mode: 0o700 }))
      const path = join(incoming, newId())
      const file = await open(path, 'wx', 0o600)
      const digest = await writeAndSync(file, source, more).catch(async (error: unknown) => {
        await rm(path, { force: true })
        throw error
      })
      const { sha256 } = digest
      return {
        ...digest,
        async keep() {
          const place = join(sha256.slice(0, 2), sha256.slice(2, 4), sha256)
          const folder = dirname(pathOf(place))
          await mkdir(folder, { recursive: true, mode: 0o700 })
          await rename(path, pathOf(place))
          await syncFolder(folder)
          return place
        },
        async park() {
          await syncFolder(incoming)
          return relative(root, path)
        },
        discard: () => rm(path, { force: true }),
      }
    },

    pathOf,

    read: (place, range = {}) => readParts(pathOf(place), place, range),

    remove: (place) => rm(pathOf(place), { force: true }),

    async *list() {
      for (const place of await readdir(root, { recursive: true }).catch(() => [])) {
        const stats = await stat(pathOf(place)).catch(() => null)
        if (stats?.isFile()) yield { place, modifiedAt: stats.mtime }
      }
    },

    async [Symbol.asyncDispose]() {},
  }
}

async function writeAndSync(file: FileHandle, source: AsyncIterable<Uint8Array>, more: StageMore) {
  try {
    const digest = await writeDown(file, source, more)
    await file.sync()
    return digest
  } finally {
    await file.close()
  }
}

/**
 * Copies input into one of two blocks, hashing and writing a full one while the other fills. Needs few system calls and
 * keeps no source chunk.
 */
async function writeDown(
  file: FileHandle,
  source: AsyncIterable<Uint8Array>,
  { signal, limit = Infinity }: StageMore,
): Promise<{ sha256: string; size: number; head: Buffer }> {
  const hash = createHash('sha256')
  const head: Buffer[] = []
  let size = 0
  let block: Buffer = Buffer.allocUnsafeSlow(FIRST_BYTES)
  let spare: Buffer | null = null
  let offset = 0
  let writing: Promise<void> = Promise.resolve()

  const flush = async (): Promise<void> => {
    const full = block.subarray(0, offset)
    hash.update(full)
    await writing
    writing = writeAll(file, full)
    // The failure is reported to the next await.
    writing.catch(() => {})
    const next: Buffer = spare ?? Buffer.allocUnsafeSlow(BLOCK_BYTES)
    spare = block.length === BLOCK_BYTES ? block : null
    block = next
    offset = 0
  }
  try {
    for await (const part of source) {
      signal?.throwIfAborted()
      if (size < HEAD_BYTES) head.push(Buffer.from(part.subarray(0, HEAD_BYTES - size)))
      size += part.length
      if (size > limit) throw tooLarge(limit)
      for (let at = 0; at < part.length;) {
        const some = part.subarray(at, at + block.length - offset)
        block.set(some, offset)
        offset += some.length
        at += some.length
        if (offset === block.length) await flush()
      }
    }
    if (offset > 0) await flush()
  } finally {
    await writing
  }
  return { sha256: hash.digest('hex'), size, head: Buffer.concat(head) }
}

let largeReaders = 0

/** Reads one chunk ahead, so disk and socket work in parallel. */
async function* readParts(
  path: string,
  place: string,
  { start = 0, end: requestedEnd = Infinity, reuse = false }: Range & { reuse?: boolean },
): AsyncGenerator<Uint8Array> {
  const file = await open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'ENOENT' ? new BlobMissing(place) : error
  })
  let ahead: Promise<Buffer> | null = null
  let large = false
  try {
    const end = Math.min(requestedEnd, (await file.stat()).size)
    large = end - start > 4 * LARGE_PART_BYTES && largeReaders < MAX_LARGE
    if (large) largeReaders += 1
    const most = large ? LARGE_PART_BYTES : PART_BYTES
    const spare: Buffer[] = []
    let at = start
    const next = async (): Promise<Buffer> => {
      const length = Math.min(most, end - at)
      const buffer = (reuse ? spare.pop() : undefined) ?? Buffer.allocUnsafeSlow(length)
      const { bytesRead } = await file.read(buffer, 0, length, at)
      if (bytesRead === 0) throw new Error(`the bytes at ${place} are fewer than they were`)
      at += bytesRead
      return buffer.subarray(0, bytesRead)
    }
    if (at < end) ahead = next()
    while (ahead !== null) {
      const part: Buffer = await ahead
      ahead = at < end ? next() : null
      yield part
      if (part.length === most) spare.push(part)
    }
  } finally {
    if (large) largeReaders -= 1
    await ahead?.catch(() => {})
    await file.close()
  }
}
