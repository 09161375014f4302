import { isUtf8 } from 'node:buffer'
import { sql } from 'kysely'
import { readBlob } from '../blobs/keep.ts'
import type { Engine } from '../context.ts'
import { decode } from '../documents/charset.ts'
import { Unreadable, kindOf } from '../documents/document.ts'
import { looksBinary } from '../documents/text.ts'
import { gramsOf } from '../matching/grams.ts'

/** Text that is longer is not looked at; so much is in memory for one file at a time. */
const MOST_PLAIN = 32 << 20
const MOST_DOCUMENT = 64 << 20
/** A document that failed for no reason of its own is tried again so often. */
const MOST_ATTEMPTS = 5

interface Learnt {
  plain: boolean
  reason: string | null
  text: string | null
  title: string | null
  grams: Int32Array | null
}

type Parts = Pick<Engine, 'blobs' | 'postgres' | 'documents' | 'log'>

/** Of a file: its hash, and what says how its bytes are to be read. */
export interface ContentOf {
  sha256: string
  mime_type: string | null
  name: string
  size_bytes: bigint
}

/**
 * Learns the text of bytes, once for all files that hold them: which lines can be searched, by which trigrams, and what
 * a document says. Answers false when it has to be tried again later.
 */
export async function learnContent(engine: Parts, of: ContentOf): Promise<boolean> {
  const known = await engine.postgres.pool.query<{ attempts: number; done: boolean }>({
    name: 'contents_known',
    text: 'select attempts, indexed_at is not null as done from contents where sha256 = $1',
    values: [of.sha256],
  })
  const row = known.rows[0]
  if (row === undefined || row.done) return true
  let learnt: Learnt
  try {
    learnt = await look(engine, of)
  } catch (error) {
    if (row.attempts + 1 < MOST_ATTEMPTS) {
      await engine.postgres.pool.query('update contents set attempts = attempts + 1 where sha256 = $1', [of.sha256])
      return false
    }
    engine.log.warn({ error, sha256: of.sha256 }, 'the text of a file cannot be read')
    learnt = { plain: false, reason: 'damaged', text: null, title: null, grams: null }
  }
  await keep(engine, of.sha256, learnt)
  return true
}

const keep = async (
  { postgres }: Parts,
  sha256: string,
  { plain, reason, text, title, grams }: Learnt,
): Promise<void> =>
  void (await postgres.pool.query({
    name: 'contents_keep',
    text: `update contents set indexed_at = now(), plain = $2, reason = $3, text = $4, title = $5, grams = $6::int4[]
      where sha256 = $1`,
    values: [sha256, plain, reason, text, title, grams && `{${grams.join()}}`],
  }))

const none = (reason: string): Learnt => ({ plain: false, reason, text: null, title: null, grams: null })

async function look(engine: Parts, { sha256, mime_type, name, size_bytes }: ContentOf): Promise<Learnt> {
  const kind = kindOf(mime_type, name)
  const media = /^(image|audio|video|font)\//.test(mime_type ?? '') && !/svg/.test(mime_type ?? '')
  if (media) return none('binary')
  const document = kind !== null && kind !== 'text' && kind !== 'html'
  if (Number(size_bytes) > (document ? MOST_DOCUMENT : MOST_PLAIN)) return none('too_large')
  const bytes = await whole(engine, sha256)
  if (document || kind === 'html') {
    const read = await engine.documents.read({ kind, bytes }).catch((error: unknown) => {
      if (error instanceof Unreadable && error.reason !== 'busy') return error.reason
      throw error
    })
    if (typeof read === 'string') {
      if (document) return none(read)
    } else {
      const text = read.text.replaceAll('\0', '')
      // A page is searched line by line as it was written, and by its words as it reads.
      const plain = kind === 'html' && isUtf8(bytes) && !looksBinary(bytes)
      return { plain, reason: null, text, title: read.title, grams: gramsOf(plain ? bytes : Buffer.from(text)) }
    }
  }
  if (looksBinary(bytes)) return none('binary')
  if (isUtf8(bytes) && !startsMarked(bytes))
    return { plain: true, reason: null, text: null, title: null, grams: gramsOf(bytes) }
  if (kind === null && mime_type !== null && !startsMarked(bytes)) return none('binary')
  const text = decode(bytes).replaceAll('\0', '').toWellFormed()
  return { plain: false, reason: null, text, title: null, grams: gramsOf(Buffer.from(text)) }
}

/** UTF-16 with a byte order mark. That of UTF-8 may stay: ripgrep leaves it out as well, and so does this. */
const startsMarked = (bytes: Uint8Array): boolean =>
  (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) ||
  (bytes[0] === 0xff && bytes[1] === 0xfe) ||
  (bytes[0] === 0xfe && bytes[1] === 0xff)

async function whole(engine: Parts, sha256: string): Promise<Buffer> {
  const parts: Uint8Array[] = []
  for await (const part of readBlob(engine, sha256)) parts.push(part)
  return parts.length === 1
    ? Buffer.from(parts[0]!.buffer, parts[0]!.byteOffset, parts[0]!.byteLength)
    : Buffer.concat(parts)
}

/** What a file says, for search and reading: the text of a document, or its bytes where they are text. Null when it says nothing. */
export async function textOf(
  engine: Parts,
  sha256: string,
  most: number,
): Promise<{ text: string; title: string | null } | null> {
  const { rows } = await sql<{
    plain: boolean
    text: string | null
    title: string | null
  }>`select plain, left(text, ${most}) as text, title
    from contents where sha256 = ${sha256} and indexed_at is not null`.execute(engine.postgres.db)
  const row = rows[0]
  if (row === undefined) return null
  if (row.text !== null) return { text: row.text, title: row.title }
  if (!row.plain) return null
  const parts: Uint8Array[] = []
  for await (const part of readBlob(engine, sha256, { end: most })) parts.push(part)
  return { text: new TextDecoder().decode(Buffer.concat(parts)), title: null }
}
