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

/** How long to retry a lost connection. Received bytes are kept. */
const PATIENCE_MS = 60_000

interface DownloadRequest {
  output: string
  what: unknown
  ask(more?: More): Promise<Incoming>
}

/**
 * Downloads into a hidden `.part` file and renames it when complete. Resumes after a disconnect, also in a later run,
 * as long as the server has the same bytes (RFC 9110, 13.1.5: `If-Range`).
 */
export async function download({ output, what, ask }: DownloadRequest, terminal: Terminal): Promise<number> {
  const before = await stat(output).catch(() => null)
  const path = before === null ? resolve(output) : await realpath(output)
  const mark = createHash('sha256')
    .update(JSON.stringify([what, path]))
    .digest('hex')
  const part = join(dirname(path), `.${basename(path)}.${mark.slice(0, 12)}.part`)
  await using handle = await openPart(part).catch((error: Error) => {
    throw new Stop('usage', `Can't write ${output}: ${error.message}.`)
  })
  using progress = progressOn(process.stderr)
  const back = terminal.onInterrupt(() => terminal.err('\nRun the same command again to resume.'))
  try {
    const etagStore = {
      etag: (await marks(terminal))[mark] ?? null,
      keep: (etag: string) => keepMark(mark, etag, terminal),
    }
    const size = await bring(handle, { name: output, ask, progress, terminal, ...etagStore })
    await handle.truncate(size)
    if (before !== null) await handle.chmod(before.mode)
    await rename(part, path)
    await keepMark(mark, null, terminal)
    progress[Symbol.dispose]()
    terminal.err(`Saved ${output} (${size} bytes)`)
    return codeOf('ok')
  } catch (error) {
    // Without an ETag, the part can't be resumed.
    if ((await marks(terminal))[mark] === undefined) await rm(part, { force: true })
    else if (error instanceof Unreachable) terminal.err('Run the same command again to resume.')
    throw error
  } finally {
    back()
  }
}

/**
 * Opens the part of an earlier download, or a new file. Its name is predictable, so a link or another user's file is
 * removed instead of written to.
 */
async function openPart(path: string): Promise<FileHandle> {
  const { O_RDWR, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK } = constants
  const file = await open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK).catch(() => null)
  if (file !== null) {
    const stats = await file.stat()
    if (stats.isFile() && stats.nlink === 1 && stats.uid === process.geteuid?.()) return file
    await file.close()
  }
  await rm(path, { force: true })
  return open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0o666)
}

/** Whether the target can be replaced by a rename: not a device or a pipe. */
export async function isPlain(output: string): Promise<boolean> {
  const stats = await stat(output).catch(() => null)
  return stats === null || stats.isFile()
}

interface Bringing {
  name: string
  ask: DownloadRequest['ask']
  progress: ReturnType<typeof progressOn>
  terminal: Terminal
  etag: string | null
  keep(etag: string): Promise<void>
}

async function bring(handle: FileHandle, { name, ask, progress, terminal, etag, keep }: Bringing): Promise<number> {
  let currentEtag = etag
  let at = currentEtag === null ? 0 : (await handle.stat()).size
  if (at > 0) terminal.err(`Resuming ${name} at byte ${at}.`)
  let cutSince: number | null = null
  for (;;) {
    let total: number | null = null
    try {
      const response = await rest(ask, at, currentEtag)
      if (response.status !== 206) at = 0
      total = totalOf(response, at)
      const tag = response.header('etag')
      // A weak ETag doesn't guarantee identical bytes.
      currentEtag = tag === null || tag.startsWith('W/') || total === null ? null : tag
      if (currentEtag !== null) await keep(currentEtag)
      const shown = progress.begins(name, total, at)
      for await (const bytes of response.bytes()) {
        await writeAt(handle, bytes, at)
        at += bytes.length
        cutSince = null
        shown.at(at)
      }
      shown.ended()
      if (total === null || at === total) return at
      throw new Unreachable('http://server', new Error('the response ended early'))
    } catch (error) {
      if (!(error instanceof Unreachable) || currentEtag === null) throw error
      cutSince ??= Date.now()
      if (Date.now() - cutSince > PATIENCE_MS) throw error
      await sleep(Math.min(5_000, 250 + (Date.now() - cutSince)))
    }
  }
}

/** Requests the rest, or everything if the bytes have changed. */
async function rest(ask: DownloadRequest['ask'], at: number, etag: string | null): Promise<Incoming> {
  if (at === 0 || etag === null) return ask()
  try {
    return await ask({ headers: { range: `bytes=${at}-`, 'if-range': etag } })
  } catch (error) {
    // The part already has all bytes, or more than the file now has.
    if (error instanceof ApiError && error.status === 416) return ask()
    throw error
  }
}

function totalOf(response: Incoming, at: number): number | null {
  if (response.status === 206) {
    const range = /^bytes (\d+)-\d+\/(\d+)$/.exec(response.header('content-range') ?? '')
    if (range === null || Number(range[1]) !== at)
      throw new Error('the server returned a different range than requested')
    return Number(range[2])
  }
  const length = response.header('content-length')
  return length === null ? null : Number(length)
}

async function writeAt(handle: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.length;)
    done += (await handle.write(bytes, done, bytes.length - done, position + done)).bytesWritten
}

const MAX_MARKS = 200
const marksFile = (terminal: Terminal): string => join(stateFolder(terminal), 'downloads.json')

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
  const newest = Object.entries(others).slice(-MAX_MARKS)
  const fresh = Object.fromEntries(etag === null ? newest : [...newest, [mark, etag]])
  try {
    await mkdir(stateFolder(terminal), { recursive: true, mode: 0o700 })
    await writeFile(marksFile(terminal), JSON.stringify(fresh), { mode: 0o600 })
  } catch {
    // Without it, an interrupted download starts over.
  }
}
