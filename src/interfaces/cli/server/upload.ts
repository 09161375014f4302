import { createHash } from 'node:crypto'
import { type FileHandle, mkdir, open, readFile, realpath, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { contracts } from '#modules/contracts.ts'
import { ApiError, type Incoming, failureOf } from '../../client.ts'
import { Stop } from '../exit.ts'
import { progressOn } from '../output/progress.ts'
import type { Terminal } from '../terminal.ts'
import type { Caller } from './caller.ts'
import { Unreachable, send } from './send.ts'
import { stateFolder } from './state.ts'

/** Smaller files are sent in one request, which nearly every proxy allows. */
export const SMALL = 512 << 10
const LARGEST_PART = 8 << 20
const SMALLEST_PART = 64 << 10
/** How long to retry a lost connection. The server keeps the upload for a day. */
const PATIENCE_MS = 60_000
const TUS = { 'tus-resumable': '1.0.0' }

/** Target of an upload, with the fields of `drive.upload`. */
interface Place {
  workspace_id?: string
  parent_id?: string
  name?: string
  on_conflict?: string
}

/**
 * Uploads a file in parts with tus (https://tus.io/protocols/resumable-upload). Resumes after a disconnect, also in a
 * later run, and shrinks its parts when a proxy rejects them. Returns the file's metadata response.
 */
export async function upload(path: string, place: Place, caller: Caller, terminal: Terminal): Promise<Incoming> {
  const { call } = caller
  const { endpoints } = await contracts.drive()
  const handle = await open(path).catch(() => {
    throw new Stop('usage', `Can't read ${path}: it doesn't exist, or you don't have permission.`)
  })
  await using _ = { [Symbol.asyncDispose]: () => handle.close() }
  const { size, mtimeMs } = await handle.stat()
  const name = place.name ?? basename(path)
  const mark = createHash('sha256')
    .update(JSON.stringify([caller.target.origin, caller.target.account, await realpath(path), size, mtimeMs, place]))
    .digest('hex')
  const uploads = await readUploads(terminal)
  const existing = uploads[mark] === undefined ? null : await stateOf(uploads[mark].id, caller)
  if (existing !== null && existing.offset > 0)
    terminal.err(`Resuming ${name} at ${Math.floor((existing.offset / size) * 100)} %.`)
  const { id, offset: from } = existing ?? { id: await begin(name, size, place, caller), offset: 0 }
  await writeUploads(terminal, { ...uploads, [mark]: { id, at: Date.now() } })
  const back = terminal.onInterrupt(() => terminal.err('\nRun the same command again within a day to resume.'))
  try {
    using progress = progressOn(process.stderr)
    const file = progress.begins(name, size, from)
    const fileId = await sendParts({ id, handle, size, from, caller, at: (offset) => file.at(offset) })
    file.ended()
    const { [mark]: done, ...others } = await readUploads(terminal)
    void done
    await writeUploads(terminal, others)
    return await call(endpoints.metadata, { id: fileId })
  } catch (error) {
    if (error instanceof Unreachable) terminal.err('Run the same command again within a day to resume.')
    throw error
  } finally {
    back()
  }
}

async function begin(name: string, size: number, place: Place, { call }: Caller): Promise<string> {
  const { endpoints } = await contracts.drive()
  const about = Object.entries({
    filename: name,
    ...place,
  }).filter((pair): pair is [string, string] => typeof pair[1] === 'string')
  const metadata = about.map(([key, value]) => `${key} ${Buffer.from(value).toString('base64')}`).join(',')
  const answer = await call(
    endpoints.begin_upload,
    {},
    { headers: { ...TUS, 'upload-length': String(size), 'upload-metadata': metadata } },
  )
  // Only the ID is used: behind a proxy, the server may not know its public address.
  return new URL(answer.header('location')!, 'http://x').pathname.split('/').at(-1)!
}

interface State {
  id: string
  offset: number
  fileId: string | null
}

/** State of an upload; null if it no longer exists. */
async function stateOf(id: string, { call }: Caller): Promise<State | null> {
  const { endpoints } = await contracts.drive()
  try {
    const answer = await call(endpoints.get_upload, { id })
    const { data } = JSON.parse(await answer.text()) as { data: { offset_bytes: number; file_id: string | null } }
    return { id, offset: data.offset_bytes, fileId: data.file_id }
  } catch (error) {
    if (error instanceof ApiError && (error.status === 404 || error.status === 410)) return null
    throw error
  }
}

interface Sending {
  id: string
  handle: FileHandle
  size: number
  from: number
  caller: Caller
  at(offset: number): void
}

async function sendParts({ id, handle, size, from, caller, at }: Sending): Promise<string> {
  const { target } = caller
  let offset = from
  let part = LARGEST_PART
  let cutSince: number | null = null
  const room = Buffer.alloc(Math.min(LARGEST_PART, Math.max(size, 1)))
  for (;;) {
    if (offset >= size) {
      const state = await stateOf(id, caller)
      if (state?.fileId) return state.fileId
    }
    const { bytesRead } = await handle.read(room, 0, Math.min(part, size - offset), offset)
    if (bytesRead === 0 && offset < size)
      throw new Stop('usage', 'The file shrank during the upload.', 'Upload it again.')
    try {
      const answer = await send({
        method: 'PATCH',
        url: `${target.origin}/v1/drive/uploads/${id}`,
        headers: {
          ...TUS,
          authorization: `Bearer ${target.key}`,
          'upload-offset': String(offset),
          'content-type': 'application/offset+octet-stream',
        },
        body: room.subarray(0, bytesRead),
        signal: undefined,
      })
      if (answer.status === 204) {
        offset = Number(answer.header('upload-offset'))
        cutSince = null
        at(offset)
        const fileId = answer.header('x-uk-file-id')
        if (fileId !== null) return fileId
        continue
      }
      const failure = await failureOf(answer)
      const byProxy = failure.requestId === null
      if (byProxy && answer.status === 413 && part > SMALLEST_PART) part = smaller(part)
      else if (byProxy && answer.status >= 500) throw new Unreachable(target.origin, failure)
      // Any other conflict, such as a name taken meanwhile, would fail again.
      else if (failure.code !== 'stale_update') throw failure
      else offset = (await stateOf(id, caller))?.offset ?? gone()
    } catch (error) {
      if (!(error instanceof Unreachable)) throw error
      cutSince ??= Date.now()
      if (Date.now() - cutSince > PATIENCE_MS) throw error
      // A proxy may close the connection before its response arrives, so try smaller parts too.
      part = smaller(part)
      await sleep(Math.min(5_000, 250 + (Date.now() - cutSince)))
      const state = await stateOf(id, caller).catch((again: unknown) =>
        again instanceof Unreachable ? undefined : fail(again),
      )
      if (state === null) gone()
      else if (state !== undefined) at((offset = state.offset))
    }
  }
}

const smaller = (part: number): number => Math.max(SMALLEST_PART, part / 2)
const gone = (): never => {
  throw new Stop('not_found', 'The upload no longer exists on the server.', 'Run the command again to start over.')
}
const fail = (error: unknown): never => {
  throw error
}

type UploadRecords = Record<string, { id: string; at: number }>
const DAY_MS = 86_400_000

async function readUploads(terminal: Terminal): Promise<UploadRecords> {
  try {
    const all = JSON.parse(await readFile(join(stateFolder(terminal), 'uploads.json'), 'utf8')) as UploadRecords
    return Object.fromEntries(Object.entries(all).filter(([, { at }]) => Date.now() - at < DAY_MS))
  } catch {
    return {}
  }
}

async function writeUploads(terminal: Terminal, all: UploadRecords): Promise<void> {
  try {
    await mkdir(stateFolder(terminal), { recursive: true, mode: 0o700 })
    await writeFile(join(stateFolder(terminal), 'uploads.json'), JSON.stringify(all), { mode: 0o600 })
  } catch {
    // Without it, an interrupted upload starts over.
  }
}
