import { isUtf8 } from 'node:buffer'
import { readFile } from 'node:fs/promises'
import { sql } from 'kysely'
import { BlobMissing, type Blobs } from '../../blobs/blobs.ts'
import type { Log } from '../../log.ts'
import type { Postgres } from '../../postgres/client.ts'
import type { DocumentReader } from '../documents/reader.ts'
import { charsetOf, charsetWithin } from '../charset/charset.ts'
import { READER_VERSION, Unreadable, kindOf } from '../documents/document.ts'
import { readDocument } from '../documents/read.ts'
import { looksBinary } from '../documents/text.ts'
import { gramsOf } from '#packages/linear-grep/regex/grams.ts'

/** Longer text isn't indexed; one file at a time is in memory. */
const MAX_PLAIN = 32 << 20
const MAX_DOCUMENT = 64 << 20
/** Attempts for documents that fail through no fault of their own. */
const MAX_ATTEMPTS = 5

interface Learnt {
  plain: boolean
  reason: string | null
  text: string | null
  title: string | null
  grams: Int32Array | null
  charset: string | null
}

export interface TextSources {
  blobs: Blobs
  postgres: Postgres
  documents: DocumentReader
  log: Log
}

export interface ContentOf {
  sha256: string
  mime_type: string | null
  name: string
  size_bytes: bigint
  account: string
}

export type TextByHash = Map<string, { text: string; title: string | null }>

/**
 * Indexes the text of content, once for all files with the same bytes: searchability by line, trigrams, and document
 * text. Returns the hashes still pending (documents unless requested, and temporary failures) and the first `most`
 * bytes of plain text, to save another read. Throws `Unreadable` `busy` if too many documents wait.
 */
export async function learnContents(
  engine: TextSources,
  contents: readonly ContentOf[],
  { documents, most = 0 }: { documents: boolean; most?: number },
): Promise<{ pending: Set<string>; texts: TextByHash }> {
  const contentByHash = new Map(contents.map((of) => [of.sha256, of]))
  const { rows } = await engine.postgres.pool.query<Waiting>({
    name: 'contents_waiting',
    text: `select c.sha256, c.attempts, b.place from contents c join blobs b on b.sha256 = c.sha256
      where c.sha256 = any($1::bpchar[]) and (c.indexed_at is null or c.reader < $2 and not c.plain)`,
    values: [[...contentByHash.keys()], READER_VERSION],
  })
  const pending = new Set<string>()
  const texts: TextByHash = new Map()
  const learnt: [string, Learnt][] = []
  const failedHashes: string[] = []
  let busy: Unreadable | null = null
  const one = async ({ sha256, attempts, place }: Waiting): Promise<void> => {
    const of = contentByHash.get(sha256)!
    if (!documents && isDocument(of)) return void pending.add(sha256)
    try {
      const bytes = once(() => bytesAt(engine, place, Number(of.size_bytes)))
      const result = await look(engine, of, bytes)
      learnt.push([sha256, result])
      if (result.plain && result.text === null && most > 0)
        texts.set(sha256, { text: textOf((await bytes()).subarray(0, most)), title: result.title })
    } catch (error) {
      if (error instanceof Unreadable && error.reason === 'busy') {
        busy = error
        return
      }
      if (attempts + 1 < MAX_ATTEMPTS) return void failedHashes.push(sha256)
      engine.log.warn({ error, sha256 }, 'the text of a file cannot be read')
      learnt.push([sha256, none('damaged')])
    }
  }
  for (let at = 0; at < rows.length; at += AT_ONCE) await Promise.all(rows.slice(at, at + AT_ONCE).map(one))
  if (failedHashes.length > 0)
    await engine.postgres.pool.query('update contents set attempts = attempts + 1 where sha256 = any($1::bpchar[])', [
      failedHashes,
    ])
  for (const sha256 of failedHashes) pending.add(sha256)
  if (learnt.length > 0) await keep(engine, learnt)
  if (busy !== null) throw busy as Unreadable
  return { pending, texts }
}

interface Waiting {
  sha256: string
  attempts: number
  place: string
}

/** Loads bytes once, when needed, so that waiting work holds none in memory. */
function once(load: () => Promise<Buffer>): () => Promise<Buffer> {
  let bytes: Promise<Buffer> | null = null
  return () => (bytes ??= load())
}

/** Larger files are read in parts, to avoid a second copy. */
const READ_WHOLE = 256 << 10

async function bytesAt({ blobs }: Pick<TextSources, 'blobs'>, place: string, size: number): Promise<Buffer> {
  const path = blobs.pathOf(place)
  if (path !== null && size <= READ_WHOLE)
    return readFile(path).catch((error: NodeJS.ErrnoException) => {
      throw error.code === 'ENOENT' ? new BlobMissing(place) : error
    })
  const parts: Uint8Array[] = []
  for await (const part of blobs.read(place)) parts.push(part)
  return Buffer.concat(parts)
}

/** A truncated last character becomes a replacement character. */
const textOf = (bytes: Buffer): string => bytes.toString().replaceAll('\0', '')

const AT_ONCE = 16

const isDocument = ({ mime_type, name }: ContentOf): boolean => {
  const kind = kindOf(mime_type, name)
  return kind !== null && kind !== 'text'
}

const keep = async ({ postgres }: TextSources, learnt: readonly [string, Learnt][]): Promise<void> =>
  void (await postgres.pool.query({
    name: 'contents_keep',
    // In hash order, because concurrent batches may have the same bytes.
    text: `with held as materialized (select sha256 from contents where sha256 = any($1::bpchar[]) order by sha256 for update)
      update contents c set indexed_at = now(), plain = x.plain, reason = x.reason, text = x.text, title = x.title, grams = x.grams::int4[], charset = x.charset, reader = ${READER_VERSION}
      from unnest($1::bpchar[], $2::boolean[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[]) x(sha256, plain, reason, text, title, grams, charset)
        join held using (sha256) where c.sha256 = x.sha256`,
    values: [
      learnt.map(([sha256]) => sha256),
      learnt.map(([, one]) => one.plain),
      learnt.map(([, one]) => one.reason),
      learnt.map(([, one]) => one.text),
      learnt.map(([, one]) => one.title),
      learnt.map(([, one]) => one.grams && `{${one.grams.join()}}`),
      learnt.map(([, one]) => one.charset),
    ],
  }))

const none = (reason: string): Learnt => ({ plain: false, reason, text: null, title: null, grams: null, charset: null })

async function look(
  engine: TextSources,
  { sha256, mime_type, name, size_bytes, account }: ContentOf,
  load: () => Promise<Buffer>,
): Promise<Learnt> {
  const kind = kindOf(mime_type, name)
  const media = /^(image|audio|video|font)\//.test(mime_type ?? '') && !/svg/.test(mime_type ?? '')
  if (media) return none('binary')
  const document = kind !== null && kind !== 'text' && kind !== 'html'
  if (Number(size_bytes) > (document ? MAX_DOCUMENT : MAX_PLAIN)) return none('too_large')
  if (document || kind === 'html') {
    const loadInput = async () => ({ kind, bytes: await load() })
    const reading = await readDocument(engine, { account, kind, sha256, load: loadInput }).catch((error: unknown) => {
      if (error instanceof Unreadable && error.reason !== 'busy') return error.reason
      throw error
    })
    if (typeof reading === 'string') {
      if (document) return none(reading)
    } else {
      const bytes = await load()
      const text = reading.text.replaceAll('\0', '')
      // HTML is searched by line in its source, and by word in its text.
      const plain = kind === 'html' && isUtf8(bytes) && !looksBinary(bytes)
      const charset = kind === 'html' ? charsetOf(bytes, { within: charsetWithin(bytes) }) : null
      const reason = kind === 'html' ? null : (reading.missing ?? (reading.truncated ? 'incomplete' : null))
      // A document without text is listed by every grep.
      const grams = reason === null ? gramsOf(plain ? bytes : Buffer.from(text)) : null
      return { plain, reason, text, title: reading.title, grams, charset }
    }
  }
  const plain = await load()
  const within = /xml/.test(mime_type ?? '') ? charsetWithin(plain) : undefined
  const charset = charsetOf(plain, { within })
  if (charset === null) return none('binary')
  if (charset === 'utf-8' && isUtf8(plain) && !startsMarked(plain))
    return { plain: true, reason: null, text: null, title: null, grams: gramsOf(plain), charset }
  if (kind === null && mime_type !== null && !startsMarked(plain)) return none('binary')
  const text = new TextDecoder(charset).decode(plain).replaceAll('\0', '').toWellFormed()
  return { plain: false, reason: null, text, title: null, grams: gramsOf(Buffer.from(text)), charset }
}

/** UTF-16 with a byte order mark. UTF-8's may stay: ripgrep and this search ignore it. */
const startsMarked = (bytes: Uint8Array): boolean =>
  (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) ||
  (bytes[0] === 0xff && bytes[1] === 0xfe) ||
  (bytes[0] === 0xfe && bytes[1] === 0xff)

export async function textsOf(engine: TextSources, hashes: readonly string[], most: number): Promise<TextByHash> {
  if (hashes.length === 0) return new Map()
  const { rows } = await sql<{
    sha256: string
    plain: boolean
    text: string | null
    title: string | null
    place: string
  }>`
    select c.sha256, c.plain, left(c.text, ${most}) as text, c.title, b.place from contents c join blobs b on b.sha256 = c.sha256
    where c.sha256 = any(${hashes}::bpchar[]) and c.indexed_at is not null and (c.plain or c.text is not null)`.execute(
    engine.postgres.db,
  )
  const readTexts = async ({
    text,
    title,
    place,
  }: (typeof rows)[number]): Promise<{ text: string; title: string | null }> => {
    if (text !== null) return { text, title }
    const parts: Uint8Array[] = []
    for await (const part of engine.blobs.read(place, { end: most })) parts.push(part)
    return { text: textOf(Buffer.concat(parts)), title }
  }
  const texts: TextByHash = new Map()
  for (let at = 0; at < rows.length; at += AT_ONCE)
    await Promise.all(rows.slice(at, at + AT_ONCE).map(async (row) => void texts.set(row.sha256, await readTexts(row))))
  return texts
}
