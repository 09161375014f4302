import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, mkdir, open, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError, type Incoming, type More } from '../../client.ts'
import { Stop, codeOf } from '../exit.ts'
import { progressOn } from '../output/progress.ts'
import type { Terminal } from '../terminal.ts'
import { Unreachable } from './send.ts'
import { stateFolder } from './state.ts'

/** The time for which a connection is tried again before it is given up; bytes that came are kept. */
const PATIENCE_MS = 60_000

interface Asked {
  output: string
  /** The identity of the download, different for anything else. */
  what: unknown
  ask(more?: More): Promise<Incoming>
}

/**
 * Brings bytes into a file, which has its name only when it is whole: until then they are in a `.part` beside it. After a cut it
 * goes on there, also when the command is given again, as long as the server has the same bytes (RFC 9110, 13.1.5: `If-Range`).
 */
export async function download({ output, what, ask }: Asked, terminal: Terminal): Promise<number> {
  const before = await stat(output).catch(() => null)
  const path = before === null ? resolve(output) : await realpath(output)
  const mark = createHash('sha256')
    .update(JSON.stringify([what, path]))
    .digest('hex')
  const part = join(dirname(path), `.${basename(path)}.${mark.slice(0, 12)}.part`)
  await using handle = await openPart(part).catch((error: Error) => {
    throw new Stop('usage', `${output} cannot be written: ${error.message}.`)
  })
  using progress = progressOn(process.stderr)
  const back = terminal.onInterrupt(() => terminal.err('\nThe same command goes on from here.'))
  try {
    const kept = { etag: (await marks(terminal))[mark] ?? null, keep: (etag: string) => keepMark(mark, etag, terminal) }
    const size = await bring(handle, { name: output, ask, progress, terminal, ...kept })
    await handle.truncate(size)
    if (before !== null) await handle.chmod(before.mode)
    await rename(part, path)
    await keepMark(mark, null, terminal)
    progress[Symbol.dispose]()
    terminal.err(`${size} bytes in ${output}`)
    return codeOf('ok')
  } catch (error) {
    // Without a mark nobody could go on with it.
    if ((await marks(terminal))[mark] === undefined) await rm(part, { force: true })
    else if (error instanceof Unreachable) terminal.err('The same command goes on where it broke off.')
    throw error
  } finally {
    back()
  }
}

/**
 * Opens the part that an earlier download left, or a new file. Its name can be guessed by whoever may write to the
 * folder: a link, or a file of another user, is put aside and never written to.
 */
async function openPart(path: string): Promise<FileHandle> {
  const { O_RDWR, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK } = constants
  const left = await open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK).catch(() => null)
  if (left !== null) {
    const found = await left.stat()
    if (found.isFile() && found.nlink === 1 && found.uid === process.geteuid?.()) return left
    await left.close()
  }
  await rm(path, { force: true })
  return open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0o666)
}

/** Whether this may be replaced by another file: a device or a pipe may not. */
export async function isPlain(output: string): Promise<boolean> {
  const found = await stat(output).catch(() => null)
  return found === null || found.isFile()
}

interface Bringing {
  name: string
  ask: Asked['ask']
  progress: ReturnType<typeof progressOn>
  terminal: Terminal
  etag: string | null
  keep(etag: string): Promise<void>
}

/** Writes all bytes to their places; answers how many they are. */
async function bring(handle: FileHandle, { name, ask, progress, terminal, etag, keep }: Bringing): Promise<number> {
  let known = etag
  let at = known === null ? 0 : (await handle.stat()).size
  if (at > 0) terminal.err(`Goes on with ${name} at byte ${at}.`)
  let cutSince: number | null = null
  for (;;) {
    let total: number | null = null
    try {
      const response = await rest(ask, at, known)
      if (response.status !== 206) at = 0
      total = totalOf(response, at)
      const tag = response.header('etag')
      // A weak one does not say that the bytes are the same.
      known = tag === null || tag.startsWith('W/') || total === null ? null : tag
      if (known !== null) await keep(known)
      const shown = progress.begins(name, total, at)
      for await (const bytes of response.bytes()) {
        await writeAt(handle, bytes, at)
        at += bytes.length
        cutSince = null
        shown.at(at)
      }
      shown.ended()
      if (total === null || at === total) return at
      throw new Unreachable('http://server', new Error('the answer ended before it was whole'))
    } catch (error) {
      if (!(error instanceof Unreachable) || known === null) throw error
      cutSince ??= Date.now()
      if (Date.now() - cutSince > PATIENCE_MS) throw error
      await sleep(Math.min(5_000, 250 + (Date.now() - cutSince)))
    }
  }
}

/** Asks for the rest from a byte on, or for all of it where these are not the same bytes any more. */
async function rest(ask: Asked['ask'], at: number, etag: string | null): Promise<Incoming> {
  if (at === 0 || etag === null) return ask()
  try {
    return await ask({ headers: { range: `bytes=${at}-`, 'if-range': etag } })
  } catch (error) {
    // All of it has come, or more than there is now.
    if (error instanceof ApiError && error.status === 416) return ask()
    throw error
  }
}

function totalOf(response: Incoming, at: number): number | null {
  if (response.status === 206) {
    const range = /^bytes (\d+)-\d+\/(\d+)$/.exec(response.header('content-range') ?? '')
    if (range === null || Number(range[1]) !== at)
      throw new Error('the server answered another range than was asked for')
    return Number(range[2])
  }
  const length = response.header('content-length')
  return length === null ? null : Number(length)
}

async function writeAt(handle: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.length;)
    done += (await handle.write(bytes, done, bytes.length - done, position + done)).bytesWritten
}

const MOST_MARKS = 200
const marksFile = (terminal: Terminal): string => join(stateFolder(terminal), 'downloads.json')

/** The `ETag` of what was begun, by what it is. */
async function marks(terminal: Terminal): Promise<Record<string, string>> {
  try {
    return JSON.parse(await readFile(marksFile(terminal), 'utf8')) as Record<string, string>
  } catch {
    return {}
  }
}

async function keepMark(mark: string, etag: string | null, terminal: Terminal): Promise<void> {
  const all = await marks(terminal)
  if (etag === null ? !(mark in all) : all[mark] === etag) return
  const { [mark]: before, ...others } = all
  void before
  const newest = Object.entries(others).slice(-MOST_MARKS)
  const fresh = Object.fromEntries(etag === null ? newest : [...newest, [mark, etag]])
  try {
    await mkdir(stateFolder(terminal), { recursive: true, mode: 0o700 })
    await writeFile(marksFile(terminal), JSON.stringify(fresh), { mode: 0o600 })
  } catch {
    // Without it a download that breaks off begins anew.
  }
}
