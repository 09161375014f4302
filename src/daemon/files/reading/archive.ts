import { type Stats, constants } from 'node:fs'
import { type FileHandle, lstat, open, readdir, readlink } from 'node:fs/promises'
import { PassThrough, Readable, type Writable } from 'node:stream'
import { pack } from 'tar-stream'
import yazl from 'yazl'
import { Refusal } from '#core/errors.ts'
import { PortableFolder } from '#core/files/portable-names.ts'
import { nameText } from '#core/files/file-path.ts'
import { type Stream, StreamReset } from '#packages/mux/stream.ts'
import { lookAt } from './true-size.ts'
import { type Folder, type Roots, openBelow } from '../within.ts'

type ArchiveEntry =
  | { type: 'folder'; name: string; stats: Stats }
  | { type: 'link'; name: string; stats: Stats; target: string }
  | {
      type: 'file'
      name: string
      stats: Pick<Stats, 'mode' | 'mtime' | 'uid' | 'gid'>
      size: number
      content: Readable
    }

interface Place {
  pathFor(name: string): string
  below(path: string): Place
}

interface Writer {
  out: Readable
  top: Place
  add(entry: ArchiveEntry): Promise<void>
  done(): void
}

/**
 * Streams a folder, opening each file only in its turn. Symlinks are kept; devices, sockets and unreadable files
 * are skipped. A `zip` changes names that are invalid on Windows or macOS; a `tar` keeps them. Returns the bytes
 * sent.
 */
export async function archive(
  roots: Roots,
  path: Buffer,
  format: 'zip' | 'tar',
  stream: Stream,
  signal: AbortSignal,
): Promise<number> {
  await using folder = await roots.openFolder(path)
  const disconnect = new AbortController()
  const over = AbortSignal.any([signal, disconnect.signal])
  const writer = givenUp(format === 'zip' ? zipWriter() : tarWriter(), over)
  const walked = walk(folder, writer.top, writer, over).then(() => writer.done())
  walked.catch((error) => writer.out.destroy(error))
  let bytes = 0
  try {
    for await (const piece of writer.out as AsyncIterable<Buffer>) {
      await stream.write(piece)
      bytes += piece.length
    }
  } finally {
    writer.out.destroy()
    disconnect.abort(new StreamReset('nobody reads on'))
    await walked.catch(() => {})
  }
  await walked
  return bytes
}

/** Wraps a writer so it never waits after an abort: an aborted archive doesn't report its end to a waiting writer. */
const givenUp = ({ out, top, add, done }: Writer, signal: AbortSignal): Writer => ({
  out,
  top,
  done,
  add: (entry) =>
    new Promise((resolve, reject) => {
      const leave = (): void => reject(signal.reason)
      signal.addEventListener('abort', leave, { once: true })
      add(entry)
        .then(resolve, reject)
        .finally(() => signal.removeEventListener('abort', leave))
      if (signal.aborted) leave()
    }),
})

async function walk(folder: Folder, place: Place, writer: Writer, signal: AbortSignal): Promise<void> {
  for (const raw of await readdir(folder.at('.'), { encoding: 'buffer' })) {
    signal.throwIfAborted()
    const stats = await lstat(folder.at(raw)).catch(() => null)
    if (stats?.isSymbolicLink()) {
      const target = await readlink(folder.at(raw)).catch(() => null)
      if (target !== null) await writer.add({ type: 'link', name: place.pathFor(nameText(raw)), stats, target })
    } else if (stats?.isDirectory()) {
      await using below = await openBelow(folder, raw).catch(() => null)
      if (below === null) continue
      const name = place.pathFor(nameText(raw))
      await writer.add({ type: 'folder', name, stats })
      await walk(below, place.below(name), writer, signal)
    } else if (stats?.isFile()) {
      await addFile(folder, raw, place.pathFor(nameText(raw)), writer)
    }
  }
}

async function addFile(folder: Folder, raw: Buffer, name: string, writer: Writer): Promise<void> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants
  const file = await open(folder.at(raw), O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch(() => null)
  if (file === null) return
  try {
    const stats = await file.stat()
    if (!stats.isFile()) return
    const { size } = await lookAt(file).catch(() => ({ size: 'unread' as const }))
    if (size === 'unread') return
    // An archive entry starts with its size, so a file without a true size is read into memory first.
    const whole = size === null ? await readWhole(file) : null
    if (size === null && whole === null) return
    const content = whole
      ? Readable.from([whole])
      : file.createReadStream({ autoClose: false, start: 0, end: Math.max(0, size! - 1) })
    const entry = { type: 'file', name, stats, size: whole?.length ?? size!, content } as const
    await writer.add(entry).finally(() => content.destroy())
  } finally {
    await file.close()
  }
}

/** The size limit for these files; larger ones are left out of an archive. */
const MAX_MADE_UP = 1_048_576

async function readWhole(file: FileHandle): Promise<Buffer | null> {
  const parts: Buffer[] = []
  for (let size = 0; size <= MAX_MADE_UP;) {
    const part = Buffer.allocUnsafe(65_536)
    const count = await file.read(part, 0, part.length, size).then(
      ({ bytesRead }) => bytesRead,
      () => null,
    )
    if (count === null) return null
    if (count === 0) return Buffer.concat(parts)
    parts.push(part.subarray(0, count))
    size += count
  }
  return null
}

const sameNames = (path: string): Place => ({
  pathFor: (name) => (path === '' ? name : `${path}/${name}`),
  below: sameNames,
})

/** Moves files to the top of the archive if their folder's path leaves no room for names. */
function portableNames(): Place {
  const placeOf = (folder: PortableFolder): Place => ({
    pathFor: (name) => folder.pathFor(name),
    below(path) {
      const inner = new PortableFolder(path)
      return inner.isRoomy ? placeOf(inner) : top
    },
  })
  const top = placeOf(new PortableFolder(''))
  return top
}

function tarWriter(): Writer {
  const out = pack()
  // streamx streams pipe to and from Node's, but their types don't show it.
  return {
    out: out as unknown as Readable,
    top: sameNames(''),
    add: (item) =>
      new Promise((resolve, reject) => {
        const { name, stats } = item
        const head = { name, mode: stats.mode & 0o7777, mtime: stats.mtime, uid: stats.uid, gid: stats.gid }
        const after = (error?: unknown): void => (error ? reject(asError(error)) : resolve())
        if (item.type === 'folder') return void out.entry({ ...head, type: 'directory' }, after)
        if (item.type === 'link') return void out.entry({ ...head, type: 'symlink', linkname: item.target }, after)
        const entry = out.entry({ ...head, type: 'file', size: item.size }, after) as unknown as Writable
        // An archive aborted within a file fails the file's entry too.
        entry.on('error', reject)
        if (item.size === 0) return void entry.end()
        let remaining = item.size
        item.content.on('data', (piece: Buffer) => void (remaining -= piece.length))
        // A tar header states the size, so a file that shrank fails the archive.
        item.content.once('end', () => remaining > 0 && reject(shrunk(name)))
        item.content.once('error', reject)
        item.content.pipe(entry)
      }),
    done: () => out.finalize(),
  }
}

function zipWriter(): Writer {
  const zip = new yazl.ZipFile()
  return {
    out: zip.outputStream as Readable,
    top: portableNames(),
    add: (item) =>
      new Promise((resolve, reject) => {
        const { name, stats } = item
        const head = { mtime: stats.mtime, mode: stats.mode }
        if (item.type === 'folder') {
          zip.addEmptyDirectory(name, head)
          return resolve()
        }
        if (item.type === 'link') {
          zip.addBuffer(Buffer.from(item.target), name, head)
          return resolve()
        }
        item.content.once('error', reject)
        item.content.once('end', resolve)
        // Through a PassThrough, because an empty file emits no byte that would end the stream.
        const content = new PassThrough()
        content.on('error', reject)
        zip.addReadStream(content, name, head)
        if (item.size === 0) {
          content.end()
          return resolve()
        }
        item.content.pipe(content)
      }),
    done: () => zip.end(),
  }
}

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)))

function shrunk(name: string): Error {
  return new Refusal('stale_update', { param: 'path', message: `${name} was truncated while it was being read.` })
}
