import { createHash } from 'node:crypto'
import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { contracts } from '#modules/contracts.ts'
import { isUtf8, pathText } from '#core/files/file-path.ts'
import { type Incoming, failureOf, pageIn } from '../../../../client.ts'
import { Unreachable } from '../../../server/send.ts'
import type { Target } from '../target.ts'
import type { FileEntry, Side, Sink, Source } from './ends.ts'
import { changed } from './here.ts'
import { ApiError, hasCode, patiently } from './losses.ts'

/** Smaller files start over instead of asking for the offset. */
const WORTH_ASKING = 1 << 20
/** Sizes below this may be false: generated files report 0 or a page. */
const MAX_UNTRUE = 1 << 20
/** Piped bytes kept in memory to be sent again. */
const PIECE = 8 << 20

interface Row {
  name: string
  name_base64: string | null
  type: FileEntry['type']
  size_bytes: number
  mode: number
  modified_at: string
}

export const filesOf = (target: Target): Side => new ComputerFiles(target)

class ComputerFiles implements Side {
  readonly #target: Target
  #isReached = false

  constructor(target: Target) {
    this.#target = target
  }

  called(path: Buffer): string {
    return `${this.#target.name}:${isUtf8(path) ? path.toString() : pathText(path)}`
  }

  async look(path: Buffer): Promise<FileEntry | null> {
    try {
      const row = entryIn((await this.#fs({ op: 'stat', path })).data as Row)
      return row.type === 'symlink' ? await this.#behind(path, row) : row
    } catch (error) {
      if (hasCode(error, 'not_found')) return null
      throw error
    }
  }

  async *list(path: Buffer): AsyncGenerator<FileEntry> {
    for (let cursor: string | undefined; ;) {
      const page = pageIn(await this.#fs({ op: 'list', path, limit: 1_000, ...(cursor !== undefined && { cursor }) }))
      for (const row of page.rows as Row[]) yield entryIn(row)
      if (page.next === null) return
      cursor = page.next
    }
  }

  async makeFolder(path: Buffer): Promise<void> {
    await this.#fs({ op: 'mkdir', path }).catch((error: unknown) => {
      if (!hasCode(error, 'already_exists')) throw error
    })
  }

  source(path: Buffer, { size, mode, modified }: FileEntry): Source {
    const { origin, id } = this.#target
    const source = {
      size: size as number | null,
      mode,
      modified,
      mark: `${origin}\0${id}\0${path.toString('latin1')}\0${size}\0${modified}`,
      read: (from: number) => read(from),
      measure: async () => {
        if (size >= MAX_UNTRUE) return
        const answer = await this.#firstByte(path)
        // Only files without a true size have no ETag.
        if (answer !== null && answer.header('etag') === null) source.size = null
      },
    }
    const read = this.#reading(path, source)
    return source
  }

  sink(path: Buffer, { force }: { force: boolean }): Sink {
    return sinkOf(this.#target, pathText(path), force)
  }

  async #fs(input: { op: string; path: Buffer; limit?: number; cursor?: string }): Promise<any> {
    const { endpoints } = await contracts.computers()
    const ask = () => this.#target.call(endpoints.fs, { id: this.#target.id, ...input, path: pathText(input.path) })
    // Don't retry a computer that was offline from the start.
    const answer = await (this.#isReached ? patiently(ask) : ask())
    this.#isReached = true
    return JSON.parse(await answer.text())
  }

  /** Resolves a symlink: a folder can be listed, a file reports its size. */
  async #behind(path: Buffer, row: FileEntry): Promise<FileEntry> {
    try {
      await this.#fs({ op: 'list', path, limit: 1 })
      return { ...row, type: 'folder' }
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
    }
    const answer = await this.#firstByte(path)
    const size = answer === null ? 0 : Number(/\/(\d+)$/.exec(answer.header('content-range') ?? '')?.[1] ?? 0)
    const modified = Date.parse(answer?.header('last-modified') ?? '') || row.modified
    return { ...row, type: 'file', size, modified, mode: 0o666 }
  }

  /** Response headers for the file's first byte; null for an empty file. */
  async #firstByte(path: Buffer): Promise<Pick<Incoming, 'header'> | null> {
    const { endpoints } = await contracts.computers()
    try {
      const answer = await patiently(() =>
        this.#target.call(
          endpoints.download,
          { id: this.#target.id, path: pathText(path) },
          { headers: { range: 'bytes=0-0' } },
        ),
      )
      for await (const _ of answer.bytes()) break
      return answer
    } catch (error) {
      // An empty file has no satisfiable range.
      if (error instanceof ApiError && error.status === 416) return null
      throw error
    }
  }

  /** Reads from an offset, of the same file version as the first read. */
  #reading(path: Buffer, source: { size: number | null }): Source['read'] {
    let etag: string | null = null
    const { id, origin, call } = this.#target
    const name = this.called(path)
    return async function* (from) {
      // An empty file may be generated on reading.
      if (from > 0 && source.size !== null && from >= source.size) return
      const { endpoints } = await contracts.computers()
      const headers: Record<string, string> = {
        ...(from > 0 && { range: `bytes=${from}-` }),
        ...(from > 0 && etag !== null && { 'if-range': etag }),
      }
      const answer: Incoming = await call(endpoints.download, { id, path: pathText(path) }, { headers })
      const tag = answer.header('etag')
      if (tag === null) source.size = null
      if ((from > 0 && answer.status !== 206) || (etag !== null && tag !== etag)) throw changed(name)
      etag = tag
      let at = from
      for await (const part of answer.bytes()) {
        at += part.length
        if (source.size !== null && at > source.size) throw changed(name)
        yield part
      }
      if (source.size !== null && at < source.size) throw new Unreachable(origin, new Error('the response ended early'))
    }
  }
}

function entryIn({ name, name_base64, type, size_bytes: size, mode, modified_at }: Row): FileEntry {
  const bytes = name_base64 === null ? Buffer.from(name) : Buffer.from(name_base64, 'base64')
  return { name: bytes, type, size, mode: mode & 0o777, modified: Date.parse(modified_at) }
}

function sinkOf(target: Target, path: string, force: boolean): Sink {
  let tag = ''
  async function offset(): Promise<number> {
    const { endpoints } = await contracts.computers()
    const answer = await patiently(() => target.call(endpoints.upload_offset, { id: target.id, path, tag }))
    return (JSON.parse(await answer.text()) as { data: { offset: number } }).data.offset
  }
  const send = (source: Source, range: string | null, size: number, body: AsyncIterable<Uint8Array>) =>
    post(target, queryOf(path, force, tag, source), range, size, body)
  let hasAsked = false
  return {
    announces: true,
    async begun(source) {
      tag = createHash('sha256').update(source.mark).digest('hex').slice(0, 32)
      const first = !hasAsked
      hasAsked = true
      if (first && (source.size === null || source.size < WORTH_ASKING)) return 0
      const there = await offset()
      return source.size === null || there <= source.size ? there : 0
    },
    async write(source, from, at) {
      if (source.size === null) return writePieces(source, at)
      const { size } = source
      const range = from === 0 ? null : from === size ? `bytes */${size}` : `bytes ${from}-${size - 1}/${size}`
      await send(source, range, size - from, counted(source.read(from), from, at))
    },
  }

  /** Uploads in pieces. A piece of an unrepeatable source stays in memory until the computer has it. */
  async function writePieces(source: Source, at: (offset: number) => void): Promise<void> {
    let start = 0
    for await (const { piece, last } of pieces(source.read(0))) {
      const end = start + piece.length
      const total = last ? String(end) : '*'
      await patiently(async (again) => {
        const from = again ? Math.min(Math.max(await offset(), start), end) : start
        const range = from === end ? (end === 0 ? null : `bytes */${end}`) : `bytes ${from}-${end - 1}/${total}`
        // The computer has all of it, and more follows.
        if (from === end && !last) return
        await send(source, range, end - from, Readable.from([piece.subarray(from - start)]))
      })
      start = end
      at(start)
    }
  }
}

async function* pieces(source: AsyncIterable<Uint8Array>): AsyncGenerator<{ piece: Buffer; last: boolean }> {
  let chunks: Uint8Array[] = []
  let size = 0
  for await (const part of source) {
    chunks.push(Uint8Array.from(part))
    size += part.length
    if (size < PIECE) continue
    yield { piece: Buffer.concat(chunks), last: false }
    chunks = []
    size = 0
  }
  yield { piece: Buffer.concat(chunks), last: true }
}

async function* counted(
  source: AsyncIterable<Uint8Array>,
  from: number,
  at: (offset: number) => void,
): AsyncGenerator<Uint8Array> {
  let end = from
  for await (const part of source) {
    yield part
    end += part.length
    at(end)
  }
}

function queryOf(path: string, force: boolean, tag: string, { mode, modified }: Source): URLSearchParams {
  return new URLSearchParams({
    path,
    tag,
    ...(force && { overwrite: 'true' }),
    ...(mode !== null && { mode: String(mode) }),
    ...(modified !== null && { modified_at: new Date(modified).toISOString() }),
  })
}

/** Uploads raw bytes. The server may reject them midway: report its response, not the broken pipe. */
async function post(
  { id, origin, key }: Target,
  query: URLSearchParams,
  range: string | null,
  size: number,
  body: AsyncIterable<Uint8Array>,
): Promise<void> {
  const url = new URL(`/v1/computers/${id}/fs/upload?${query.toString()}`, origin)
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': 'application/octet-stream',
    'content-length': size,
    ...(range !== null && { 'content-range': range }),
  }
  const { promise, resolve, reject } = Promise.withResolvers<Incoming>()
  let fault: unknown = null
  const request = (url.protocol === 'https:' ? requestHttps : requestHttp)(url, { method: 'POST', headers })
  request.once('response', (response) => {
    const bytes = (): AsyncIterable<Buffer> => response
    const header = (name: string): string | null => [response.headers[name] ?? null].flat().join(', ') || null
    const text = async (): Promise<string> => Buffer.concat(await Array.fromAsync(bytes())).toString()
    resolve({ status: response.statusCode ?? 0, header, text, bytes })
  })
  request.once('error', (error) => reject(fault ?? new Unreachable(url.href, error)))
  async function* fed(): AsyncGenerator<Uint8Array> {
    try {
      yield* body
    } catch (error) {
      fault = error
      throw error
    }
  }
  pipeline(Readable.from(fed(), { objectMode: false }), request).catch(() => {})
  try {
    const answer = await promise
    if (answer.status >= 300) throw await failureOf(answer)
    await answer.text()
  } finally {
    request.destroy()
  }
}
