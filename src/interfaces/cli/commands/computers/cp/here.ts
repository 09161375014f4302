import { createHash } from 'node:crypto'
import { constants, createReadStream } from 'node:fs'
import { link, lstat, mkdir, open, readdir, rename, rm, stat, unlink } from 'node:fs/promises'
import { dirname } from 'node:path'
import { isUtf8, nameText } from '#core/files/file-path.ts'
import { Stop } from '../../../exit.ts'
import { hasTrueSize } from '../../../server/files/true-size.ts'
import { type FileEntry, type Side, type Sink, type Source, below, lastOf } from './ends.ts'

export const here: Side = {
  called: (path) => (isUtf8(path) ? path.toString() : nameText(path)),
  async look(path) {
    try {
      return entryOf(lastOf(path), await stat(path))
    } catch (error) {
      if (codeIn(error) === 'ENOENT') return null
      throw plain(path, error)
    }
  },
  async *list(path) {
    for (const name of await readdir(path, { encoding: 'buffer' }).catch((error) =>
      Promise.reject(plain(path, error)),
    )) {
      // It may have been removed since.
      const stats = await lstat(below(path, name)).catch(() => null)
      if (stats) yield entryOf(name, stats)
    }
  },
  async makeFolder(path) {
    await mkdir(path).catch((error) => {
      if (codeIn(error) !== 'EEXIST') throw plain(path, error)
    })
  },
  source: (path, { size, mode, modified }) => {
    const source = {
      size: size as number | null,
      mode,
      modified,
      mark: `${path.toString('latin1')}\0${size}\0${modified}`,
      read: (from: number) => readFile(path, from, source.size),
      async measure() {
        const isTrue = await hasTrueSize(path).catch((error) => Promise.reject(plain(path, error)))
        if (!isTrue) source.size = null
      },
    }
    return source
  },
  sink: (path, { force, beside }) => new FileSink(path, force, beside),
}

const entryOf = (name: Buffer, stats: Awaited<ReturnType<typeof lstat>>): FileEntry => ({
  name,
  type: stats.isFile() ? 'file' : stats.isDirectory() ? 'folder' : stats.isSymbolicLink() ? 'symlink' : 'other',
  size: Number(stats.size),
  mode: Number(stats.mode) & 0o777,
  modified: Math.floor(Number(stats.mtimeMs)),
})

async function* readFile(path: Buffer, from: number, size: number | null): AsyncGenerator<Uint8Array> {
  if (size !== null && from >= size) return
  let at = from
  const end = size === null ? {} : { end: size - 1 }
  try {
    for await (const part of createReadStream(path, { start: from, ...end }) as AsyncIterable<Buffer>) {
      at += part.length
      yield part
    }
  } catch (error) {
    throw plain(path, error)
  }
  if (size !== null && at < size) throw changed(here.called(path))
}

export const changed = (text: string): Stop => new Stop('conflict', `${text} changed during the copy.`)

const PART = '.uk-copy-'
export const isPart = (name: Buffer): boolean => name.subarray(0, PART.length).toString('latin1') === PART

/**
 * Writes a local file next to its target. The part's name contains the content's mark, so the same command can resume
 * it, and the process ID, so two processes never write the same part.
 */
class FileSink implements Sink {
  readonly announces = false
  readonly #path: Buffer
  readonly #force: boolean
  readonly #beside: readonly Buffer[] | null
  constructor(path: Buffer, force: boolean, beside: readonly Buffer[] | null) {
    this.#path = path
    this.#force = force
    this.#beside = beside
  }

  #partOf({ mark }: Source): string {
    const digest = createHash('sha256').update(this.#path).update('\0').update(mark).digest('hex').slice(0, 16)
    return `${PART}${digest}.part`
  }
  #own(source: Source): Buffer {
    return this.#at(Buffer.from(`${this.#partOf(source)}.${process.pid}`))
  }
  #at(name: Buffer): Buffer {
    const folder = Buffer.from(dirname(this.#path.toString('latin1')), 'latin1')
    return below(folder, name)
  }

  async begun(source: Source): Promise<number> {
    // Generated files may differ at each reading.
    if (source.size === null) return 0
    const own = this.#own(source)
    const there = await lstat(own).catch(() => null)
    if (there?.isFile()) return there.size
    for (const left of await this.#left(source)) {
      if (isAlive(Number(left.toString().split('.').at(-1)))) continue
      // If two processes try to resume it, only one rename succeeds.
      await rename(this.#at(left), own).catch(() => {})
      const mine = await lstat(own).catch(() => null)
      if (mine?.isFile()) return mine.size <= source.size ? mine.size : 0
    }
    return 0
  }

  async #left(source: Source): Promise<Buffer[]> {
    const start = `${this.#partOf(source)}.`
    const names = this.#beside ?? (await readdir(this.#at(Buffer.from('.')), { encoding: 'buffer' }).catch(() => []))
    return names.filter((name) => name.subarray(0, start.length).toString('latin1') === start)
  }

  async write(source: Source, from: number, at: (offset: number) => void): Promise<void> {
    const own = this.#own(source)
    const { O_CREAT, O_RDWR, O_NOFOLLOW, O_TRUNC } = constants
    const flags = O_CREAT | O_RDWR | O_NOFOLLOW | (from === 0 ? O_TRUNC : 0)
    const file = await open(own, flags, 0o600).catch((error) => Promise.reject(plain(this.#path, error)))
    try {
      let end = from
      for await (const part of source.read(from)) {
        for (let done = 0; done < part.length;)
          done += (await file.write(part, done, part.length - done, end + done)).bytesWritten
        end += part.length
        at(end)
      }
      if (source.size !== null && end !== source.size) throw changed(here.called(this.#path))
      await file.chmod((source.mode ?? 0o666) & ~process.umask())
      if (source.modified !== null) await file.utimes(new Date(), new Date(source.modified))
      await file.sync()
    } catch (error) {
      throw plain(this.#path, error)
    } finally {
      await file.close()
    }
    await this.#putInPlace(own)
  }

  async #putInPlace(own: Buffer): Promise<void> {
    try {
      if (this.#force) return await rename(own, this.#path)
      // Linking fails if the name was taken meanwhile; a rename would replace the file.
      await link(own, this.#path)
      await unlink(own)
    } catch (error) {
      if (codeIn(error) === 'EEXIST') await rm(own, { force: true })
      throw plain(this.#path, error)
    }
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return codeIn(error) === 'EPERM'
  }
}

const codeIn = (error: unknown): unknown => (error instanceof Error && 'code' in error ? error.code : undefined)

function plain(path: Buffer, error: unknown): unknown {
  const text = here.called(path)
  switch (codeIn(error)) {
    case 'ENOENT':
      return new Stop('not_found', `${text} doesn't exist.`)
    case 'EACCES':
    case 'EPERM':
      return new Stop('auth', `${text}: permission denied.`)
    case 'EEXIST':
      return exists(text)
    case 'ENOTDIR':
      return new Stop('usage', `${text}: part of the path isn't a folder.`)
    case 'EISDIR':
      return new Stop('usage', `${text} is a folder.`)
    case 'ENOSPC':
    case 'EDQUOT':
      return new Stop(
        'limit',
        `${text}: this machine's disk is full.`,
        'Free up space, then run the same command again to resume.',
      )
    default:
      return error
  }
}

export const exists = (text: string): Stop =>
  new Stop('conflict', `${text} already exists.`, 'Add --force (-f) to replace it.')
