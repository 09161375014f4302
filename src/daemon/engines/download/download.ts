import { createHash } from 'node:crypto'
import { lookup } from 'node:dns'
import { type FileHandle, open, readFile, rm, statfs, writeFile } from 'node:fs/promises'
import { type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { LookupFunction } from 'node:net'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import ipaddr from 'ipaddr.js'
import { Refusal, refuse } from '#core/errors.ts'
import { isFull } from '../../files/faults.ts'

const REDIRECTS = 5
const SILENT_MS = 60_000
const LOOK_EVERY = 256 * 1024 * 1024

/** Disk space kept free during a download of unknown length. */
const RESERVE = LOOK_EVERY

/** The server closed the connection early. A retry resumes after these bytes. */
export class DownloadCut extends Refusal {
  readonly bytes: number
  constructor(bytes: number, total: number | null) {
    super('upstream_error', {
      param: 'source',
      message: `The download stopped after ${bytes}${total === null ? '' : ` of ${total}`} bytes. The next attempt continues from there.`,
      details: { bytes },
    })
    this.bytes = bytes
  }
}

/** Gives up after this many interruptions without progress. */
const MAX_CUTS = 3
const CUT_MS = 500

/** Retries after each `DownloadCut`, as long as there is progress. */
export async function throughCuts<T>(once: () => Promise<T>, signal: AbortSignal): Promise<T> {
  let cuts = 0
  for (let previous = -1; ;) {
    try {
      return await once()
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof DownloadCut)) throw error
      cuts = error.bytes > previous ? 1 : cuts + 1
      previous = error.bytes
      if (cuts >= MAX_CUTS) throw error
      await sleep(CUT_MS * cuts, undefined, { signal })
    }
  }
}

/** Stored beside a partial download, so a retry knows whether the content is still the same. */
interface PartialDownload {
  url: string
  etag: string | null
  total: number | null
}

export interface Download {
  url: string
  part: string
  /** Hosts (`host:port`) on this computer or its network that may be contacted. */
  local: readonly string[]
  progress(completed: number, total: number): void
  signal: AbortSignal
}

/**
 * Downloads `url` into `part`, resuming while the server has the same content. Checks disk space regularly. Throws
 * `DownloadCut`.
 */
export async function download({ url, part, local, progress, signal }: Download): Promise<void> {
  await using file = await open(part, 'a+')
  let at = (await file.stat()).size
  let earlier = at === 0 ? null : await readPartial(part, url)
  if (earlier === null && at > 0) at = await startAgain(file)
  let response = await follow(new URL(url), earlier, at, local, signal)
  try {
    if (response.statusCode === 416 && earlier?.total === at) return
    if (earlier !== null && response.statusCode === 200) at = await startAgain(file)
    else if (
      earlier !== null &&
      [206, 416].includes(response.statusCode ?? 0) &&
      !isContinuation(response, earlier, at)
    ) {
      // Different content, or a different position in it.
      at = await startAgain(file)
      earlier = null
      response.destroy()
      response = await follow(new URL(url), null, 0, local, signal)
    }
    if (response.statusCode !== (earlier !== null && at > 0 ? 206 : 200))
      refuse('upstream_error', {
        param: 'source',
        message: `The model’s server returned status ${response.statusCode}.`,
      })
    const length = Number(response.headers['content-length'] ?? NaN)
    const total = Number.isFinite(length) ? at + length : null
    await writeFile(`${part}.json`, JSON.stringify({ url, etag: tagOf(response), total } satisfies PartialDownload))
    await receive(response, file, part, at, total, progress, signal)
  } finally {
    response.destroy()
  }
}

function isContinuation(response: IncomingMessage, earlier: PartialDownload, at: number): boolean {
  if (response.statusCode !== 206) return false
  const from = /^bytes (\d+)-/.exec(response.headers['content-range'] ?? '')?.[1]
  const tag = tagOf(response)
  return Number(from ?? NaN) === at && (tag === null || tag === earlier.etag)
}

/** A weak tag promises the same meaning, not the same bytes. */
function tagOf({ headers: { etag, 'last-modified': modified } }: IncomingMessage): string | null {
  return (etag?.startsWith('W/') ? undefined : etag) ?? modified ?? null
}

async function startAgain(file: FileHandle): Promise<number> {
  await file.truncate(0)
  return 0
}

async function readPartial(part: string, url: string): Promise<PartialDownload | null> {
  const earlier = JSON.parse(await readFile(`${part}.json`, 'utf8').catch(() => 'null')) as PartialDownload | null
  return earlier?.url === url && earlier.etag !== null ? earlier : null
}

async function receive(
  response: IncomingMessage,
  file: FileHandle,
  part: string,
  from: number,
  total: number | null,
  progress: Download['progress'],
  signal: AbortSignal,
): Promise<void> {
  let at = from
  let looked = await checkRoom(part, total === null ? RESERVE : total - at, at)
  const late = (): void => void response.destroy(new Error('nothing came for a minute'))
  let timer = setTimeout(late, SILENT_MS)
  const stop = (): void => void response.destroy(signal.reason as Error)
  signal.addEventListener('abort', stop, { once: true })
  try {
    for await (const bytes of response as AsyncIterable<Buffer>) {
      clearTimeout(timer)
      timer = setTimeout(late, SILENT_MS)
      await file.appendFile(bytes)
      at += bytes.length
      if (at - looked >= LOOK_EVERY) looked = await checkRoom(part, total === null ? RESERVE : total - at, at)
      progress(at, total ?? 0)
    }
  } catch (error) {
    signal.throwIfAborted()
    if (isFull(error)) await full(part, total === null ? null : total - at)
    if (error instanceof Refusal) throw error
    throw new DownloadCut(at, total)
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', stop)
  }
  if (total !== null && at < total) throw new DownloadCut(at, total)
  await file.sync()
}

/** Rejects with 507, reporting the free space. */
export async function full(part: string, missing: number | null): Promise<never> {
  const free = await freeBytes(part)
  return refuse('storage_full', {
    message: `The computer’s disk is full: ${free} bytes are free${missing === null ? '' : `, and the model needs ${missing} more`}.`,
    details: { free_bytes: free, needed_bytes: missing },
  })
}

async function freeBytes(part: string): Promise<number> {
  const { bavail, bsize } = await statfs(dirname(part))
  return bavail * bsize
}

/** Requires 5 % more free space than is missing. Returns `at`. */
export async function checkRoom(part: string, missing: number, at: number): Promise<number> {
  const free = await freeBytes(part)
  if (free < missing * 1.05)
    refuse('storage_full', {
      message: `The computer’s disk has ${free} free bytes, and the model needs ${missing} more.`,
      details: { free_bytes: free, needed_bytes: missing },
    })
  return at
}

export async function digest(path: string, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256')
  await using file = await open(path, 'r')
  for await (const bytes of file.createReadStream({ autoClose: false, highWaterMark: 1 << 20 })) {
    signal.throwIfAborted()
    hash.update(bytes as Buffer)
  }
  return hash.digest('hex')
}

export async function dropPart(part: string): Promise<void> {
  await Promise.all([rm(part, { force: true }), rm(`${part}.json`, { force: true })])
}

async function follow(
  url: URL,
  begun: PartialDownload | null,
  at: number,
  local: readonly string[],
  signal: AbortSignal,
): Promise<IncomingMessage> {
  let next = url
  for (let hop = 0; hop <= REDIRECTS; hop++) {
    const headers = {
      'accept-encoding': 'identity',
      ...(begun?.etag && { range: `bytes=${at}-`, 'if-range': begun.etag }),
    }
    const response = await ask(next, headers, local, signal)
    const { location } = response.headers
    if (![301, 302, 303, 307, 308].includes(response.statusCode ?? 0) || location === undefined) return response
    response.destroy()
    next = new URL(location, next)
  }
  return refuse('upstream_error', { param: 'source', message: 'The model’s server redirects too many times.' })
}

function ask(
  url: URL,
  headers: Record<string, string>,
  local: readonly string[],
  signal: AbortSignal,
): Promise<IncomingMessage> {
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    refuse('invalid_parameter', {
      param: 'source.url',
      message: 'The URL must start with https:// or http://.',
    })
  const port = url.port || (url.protocol === 'https:' ? '443' : '80')
  const allowed = local.includes(`${url.hostname}:${port}`)
  return new Promise((resolve, reject) => {
    const refused = (): void => {
      reject(
        new Refusal('policy_denied', {
          param: 'source.url',
          message: 'Models can be downloaded only from public addresses.',
        }),
      )
    }
    // IP addresses are never looked up, so `publicOnly` wouldn't see them.
    if (!allowed && ipaddr.isValid(hostOf(url)) && !isPublic(hostOf(url))) return refused()
    const send = url.protocol === 'https:' ? requestHttps : requestHttp
    const request = send(url, { headers, signal, timeout: SILENT_MS, ...(!allowed && { lookup: publicOnly }) })
    request.once('timeout', () => request.destroy(new Error('no answer within a minute')))
    request.once('response', resolve)
    request.once('error', (error) => {
      if (error.message === NOT_PUBLIC) return refused()
      if (signal.aborted) return reject(signal.reason as Error)
      reject(
        new Refusal('upstream_error', {
          param: 'source.url',
          message: `The model’s server can’t be reached: ${error.message}.`,
        }),
      )
    })
    request.end()
  })
}

const hostOf = (url: URL): string => url.hostname.replace(/^\[|\]$/g, '')
const isPublic = (address: string): boolean => ipaddr.process(address).range() === 'unicast'
const NOT_PUBLIC = 'not a public address'

/** Resolves a name and removes addresses of private and local networks. */
const publicOnly: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    const open = error ? [] : addresses.filter(({ address }) => isPublic(address))
    if (error || open.length === 0) return callback(error ?? new Error(NOT_PUBLIC), '', 0)
    if (options.all) return callback(null, open)
    callback(null, open[0]!.address, open[0]!.family)
  })
}
