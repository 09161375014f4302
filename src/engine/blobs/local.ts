import { createHash } from 'node:crypto'
import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { newId } from '#kernel/ids.ts'
import { BlobMissing, type Blobs, HEAD_BYTES, type Range } from './blobs.ts'
import { tooLarge } from './too-large.ts'

/** Large enough that reads and writes cost little beside the bytes, small enough that a thousand readers fit in memory. */
const PART_BYTES = 256 * 1024
/** How much may wait for the disk before the sender is told to wait. */
const WAITING_BYTES = 1 << 20

/**
 * A folder: `ab/cd/abcd…` by hash, and `incoming/` for what is being written. A file is synced before it gets its name,
 * and the folder after it, so that what a row names survives a power cut.
 */
export function localBlobs(root: string): Blobs {
  const incoming = join(root, 'incoming')
  const pathOf = (place: string): string => join(root, place)
  let made: Promise<unknown> | null = null

  return {
    async stage(source, { signal, limit = Infinity } = {}) {
      await (made ??= mkdir(incoming, { recursive: true, mode: 0o700 }))
      const path = join(incoming, newId())
      const file = await open(path, 'wx', 0o600)
      const sink = new Sink(file, limit)
      try {
        await pipeline(source, sink, signal ? { signal } : {})
        await file.sync()
      } catch (error) {
        await file.close().catch(() => {})
        await rm(path, { force: true })
        throw error
      }
      await file.close()
      const sha256 = sink.hash.digest('hex')
      return {
        sha256,
        size: sink.size,
        head: Buffer.concat(sink.head),
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
        const found = await stat(pathOf(place)).catch(() => null)
        if (found?.isFile()) yield { place, modifiedAt: found.mtime }
      }
    },

    async [Symbol.asyncDispose]() {},
  }
}

/** Hashes and writes; what queues up while the disk is busy is written in one go. */
class Sink extends Writable {
  readonly hash = createHash('sha256')
  readonly head: Buffer[] = []
  size = 0
  #file: FileHandle
  #limit: number
  #headLeft = HEAD_BYTES
  constructor(file: FileHandle, limit: number) {
    super({ highWaterMark: WAITING_BYTES, decodeStrings: false })
    this.#file = file
    this.#limit = limit
  }
  override _write(part: Buffer, _: string, done: (error?: Error | null) => void): void {
    this._writev([{ chunk: part }], done)
  }
  override _writev(parts: { chunk: Buffer }[], done: (error?: Error | null) => void): void {
    const buffers = parts.map(({ chunk }) => chunk)
    for (const buffer of buffers) {
      this.hash.update(buffer)
      this.size += buffer.length
      if (this.#headLeft > 0) {
        // A copy: the buffer is only lent to us.
        this.head.push(Buffer.from(buffer.subarray(0, this.#headLeft)))
        this.#headLeft -= Math.min(this.#headLeft, buffer.length)
      }
    }
    if (this.size > this.#limit) return done(tooLarge(this.#limit))
    writeAll(this.#file, buffers).then(() => done(), done)
  }
}

/** A write to a nearly full disk may take only a part of the bytes before the next one fails. */
async function writeAll(file: FileHandle, buffers: readonly Buffer[]): Promise<void> {
  const whole = buffers.reduce((sum, buffer) => sum + buffer.length, 0)
  const { bytesWritten } = await file.writev([...buffers])
  if (bytesWritten === whole) return
  let rest = Buffer.concat(buffers).subarray(bytesWritten)
  while (rest.length > 0) rest = rest.subarray((await file.write(rest)).bytesWritten)
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** Reads ahead by one part, so that disk and socket work at the same time. */
async function* readParts(
  path: string,
  place: string,
  { start = 0, end = Infinity, reuse = false }: Range & { reuse?: boolean },
): AsyncGenerator<Uint8Array> {
  const file = await open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'ENOENT' ? new BlobMissing(place) : error
  })
  const spare: Buffer[] = []
  let at = start
  const next = async (): Promise<Buffer> => {
    const length = Math.min(PART_BYTES, end - at)
    if (length <= 0) return Buffer.alloc(0)
    const buffer = (reuse ? spare.pop() : undefined) ?? Buffer.allocUnsafeSlow(PART_BYTES)
    const { bytesRead } = await file.read(buffer, 0, length, at)
    at += bytesRead
    return buffer.subarray(0, bytesRead)
  }
  let ahead = next()
  try {
    for (;;) {
      const part = await ahead
      if (part.length === 0) return
      ahead = next()
      yield part
      spare.push(Buffer.from(part.buffer, 0, PART_BYTES))
    }
  } finally {
    await ahead.catch(() => {})
    await file.close()
  }
}
