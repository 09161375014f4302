/** Uploads to computers. They continue across pages and connection losses. */
import { useSyncExternalStore } from 'react'
import { ApiError, failureOf } from '#interfaces/client.ts'
import { uk } from '../../shared/api.ts'
import { refusal, sayError } from '../../ui/calls/errors.ts'
import { refreshFolder } from './queries.ts'
import { folderOf } from './paths.ts'

export interface Upload {
  key: string
  computerId: string
  path: string
  name: string
  size: number
  sent: number
  state: 'going' | 'done' | 'failed' | 'exists'
  why: string | null
}

const PART = 8_388_608
const AGAIN_MS = 2_000

let uploads: readonly Upload[] = []
const listeners = new Set<() => void>()
const stops = new Map<string, AbortController>()
const files = new Map<string, File>()

function set(key: string, change: Partial<Upload>): void {
  uploads = uploads.map((one) => (one.key === key ? { ...one, ...change } : one))
  for (const listener of listeners) listener()
}

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
export const useUploads = (): readonly Upload[] => useSyncExternalStore(subscribe, () => uploads)

export function begin(computerId: string, path: string, file: File): void {
  const key = crypto.randomUUID()
  const { name, size } = file
  uploads = [...uploads, { key, computerId, path, name, size, sent: 0, state: 'going', why: null }]
  files.set(key, file)
  set(key, {})
  void run(key, false)
}

/** Retries after an error, or overwrites the existing file. */
export function again(key: string, overwrite: boolean): void {
  set(key, { state: 'going', why: null })
  void run(key, overwrite)
}

export function dismiss(key: string): void {
  stops.get(key)?.abort()
  files.delete(key)
  uploads = uploads.filter((one) => one.key !== key)
  for (const listener of listeners) listener()
}

async function run(key: string, overwrite: boolean): Promise<void> {
  const upload = uploads.find((one) => one.key === key)!
  const stop = new AbortController()
  stops.set(key, stop)
  try {
    await send(upload, files.get(key)!, overwrite, stop.signal, (sent) => set(key, { sent }))
    set(key, { state: 'done', sent: upload.size })
    files.delete(key)
    await refreshFolder(upload.computerId, folderOf(upload.path))
  } catch (error) {
    if (stop.signal.aborted) return
    const exists = refusal(error)?.code === 'already_exists'
    set(key, {
      state: exists ? 'exists' : 'failed',
      why: exists ? 'A file with this name already exists.' : sayError(error),
    })
  } finally {
    stops.delete(key)
  }
}

/** In parts, so that an interrupted upload resumes. */
async function send(
  { computerId: id, path }: Upload,
  file: File,
  overwrite: boolean,
  signal: AbortSignal,
  progress: (sent: number) => void,
): Promise<void> {
  const tag = `${file.size}-${file.lastModified}`
  const query = new URLSearchParams({ path, tag, modified_at: new Date(file.lastModified).toISOString() })
  if (overwrite) query.set('overwrite', 'true')
  const url = `/v1/computers/${id}/fs/upload?${query}`
  let from = 0
  for (;;) {
    const to = Math.min(from + PART, file.size)
    const range = file.size > PART ? { 'content-range': `bytes ${from}-${to - 1}/${file.size}` } : undefined
    try {
      await sendPart(url, file.slice(from, to), { ...range }, signal)
      from = to
      progress(from)
      if (from >= file.size) return
    } catch (error) {
      if (signal.aborted) throw error
      const offset = refusal(error)?.code === 'stale_update' ? refusal(error)?.details?.offset : undefined
      if (typeof offset === 'number' && file.size > PART) from = offset
      else if (!(error instanceof ApiError) || error.status === 503) from = await arrived(id, path, tag, signal)
      else throw error
    }
  }
}

/** The uploaded size, once the server is reachable. */
async function arrived(id: string, path: string, tag: string, signal: AbortSignal): Promise<number> {
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS))
    signal.throwIfAborted()
    try {
      return (await uk.computers.upload_offset({ id, path, tag }, { signal })).offset
    } catch (error) {
      if (error instanceof ApiError && error.status !== 503) throw error
    }
  }
}

export async function sendPart(
  url: string,
  body: Blob,
  headers: Record<string, string>,
  signal?: AbortSignal,
): Promise<void> {
  const response = await fetch(url, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/octet-stream', 'x-uk-csrf': '1', ...headers },
    credentials: 'same-origin',
    ...(signal && { signal }),
  })
  if (response.ok) return
  throw await failureOf({
    status: response.status,
    header: (name) => response.headers.get(name),
    text: () => response.text(),
    async *bytes() {},
  })
}
