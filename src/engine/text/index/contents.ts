import { isUtf8 } from 'node:buffer'
import { sql } from 'kysely'
import { wholeBlob } from '../../blobs/keep.ts'
import type { Blobs } from '../../blobs/blobs.ts'
import type { Log } from '../../log.ts'
import type { Postgres } from '../../postgres/client.ts'
import type { DocumentReader } from '../documents/reader.ts'
import { decode } from '../documents/charset.ts'
import { READER, Unreadable, kindOf } from '../documents/document.ts'
import { readDocument } from '../documents/read.ts'
import { looksBinary } from '../documents/text.ts'
import { gramsOf } from '../../search-engine/regex/grams.ts'

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

/** Where the text of files comes from: their bytes and rows, and what reads documents. */
export interface TextSources {
  blobs: Blobs
  postgres: Postgres
  documents: DocumentReader
  log: Log
}

/** Of a file: its hash, and what says how its bytes are to be read. */
export interface ContentOf {
  sha256: string
  mime_type: string | null
  name: string
  size_bytes: bigint
  /** Who is served when a document is read: the account that waits for it, or that brought it. */
  account: string
}

/**
 * Learns the text of bytes, once for all files that hold them: which lines can be searched, by which trigrams, and what
 * a document says. Answers the hashes that are left: documents, unless they are asked for, and what failed for now. Throws
 * `Unreadable`, `busy`, when too many documents wait.
 */
export async function learnContents(
  engine: TextSources,
  given: readonly ContentOf[],
  { documents }: { documents: boolean },
): Promise<Set<string>> {
  const wanted = new Map(given.map((of) => [of.sha256, of]))
  const { rows } = await engine.postgres.pool.query<{ sha256: string; attempts: number }>({
    name: 'contents_waiting',
    text: `select sha256, attempts from contents where sha256 = any($1::text[])
      and (indexed_at is null or reader < $2 and reason in ('too_slow', 'too_large'))`,
    values: [[...wanted.keys()], READER],
  })
  const left = new Set<string>()
  const learnt: [string, Learnt][] = []
  const failed: string[] = []
  let busy: Unreadable | null = null
  const one = async ({ sha256, attempts }: { sha256: string; attempts: number }): Promise<void> => {
    const of = wanted.get(sha256)!
    if (!documents && isDocument(of)) return void left.add(sha256)
    try {
      learnt.push([sha256, await look(engine, of)])
    } catch (error) {
      if (error instanceof Unreadable && error.reason === 'busy') {
        busy = error
        return
      }
      if (attempts + 1 < MOST_ATTEMPTS) return void failed.push(sha256)
      engine.log.warn({ error, sha256 }, 'the text of a file cannot be read')
      learnt.push([sha256, none('damaged')])
    }
  }
  for (let at = 0; at < rows.length; at += AT_ONCE) await Promise.all(rows.slice(at, at + AT_ONCE).map(one))
  if (failed.length > 0)
    await engine.postgres.pool.query('update contents set attempts = attempts + 1 where sha256 = any($1::text[])', [
      failed,
    ])
  for (const sha256 of failed) left.add(sha256)
  if (learnt.length > 0) await keep(engine, learnt)
  if (busy !== null) throw busy as Unreadable
  return left
}

const AT_ONCE = 16

const isDocument = ({ mime_type, name }: ContentOf): boolean => {
  const kind = kindOf(mime_type, name)
  return kind !== null && kind !== 'text'
}

const keep = async ({ postgres }: TextSources, learnt: readonly [string, Learnt][]): Promise<void> =>
  void (await postgres.pool.query({
    name: 'contents_keep',
    text: `update contents c set indexed_at = now(), plain = x.plain, reason = x.reason, text = x.text, title = x.title, grams = x.grams::int4[], reader = ${READER}
      from unnest($1::text[], $2::boolean[], $3::text[], $4::text[], $5::text[], $6::text[]) x(sha256, plain, reason, text, title, grams)
      where c.sha256 = x.sha256`,
    values: [
      learnt.map(([sha256]) => sha256),
      learnt.map(([, one]) => one.plain),
      learnt.map(([, one]) => one.reason),
      learnt.map(([, one]) => one.text),
      learnt.map(([, one]) => one.title),
      learnt.map(([, one]) => one.grams && `{${one.grams.join()}}`),
    ],
  }))

const none = (reason: string): Learnt => ({ plain: false, reason, text: null, title: null, grams: null })

async function look(engine: TextSources, { sha256, mime_type, name, size_bytes, account }: ContentOf): Promise<Learnt> {
  const kind = kindOf(mime_type, name)
  const media = /^(image|audio|video|font)\//.test(mime_type ?? '') && !/svg/.test(mime_type ?? '')
  if (media) return none('binary')
  const document = kind !== null && kind !== 'text' && kind !== 'html'
  if (Number(size_bytes) > (document ? MOST_DOCUMENT : MOST_PLAIN)) return none('too_large')
  let bytes: Buffer | null = null
  // Only what is being read is in memory: what waits for its turn is not.
  const load = async (): Promise<Buffer> => (bytes ??= await wholeBlob(engine, sha256))
  if (document || kind === 'html') {
    const given = async () => ({ kind, bytes: await load() })
    const read = await readDocument(engine, { account, kind, sha256, given }).catch((error: unknown) => {
      if (error instanceof Unreadable && error.reason !== 'busy') return error.reason
      throw error
    })
    if (typeof read === 'string') {
      if (document) return none(read)
    } else {
      const bytes = await load()
      const text = read.text.replaceAll('\0', '')
      // A page is searched line by line as it was written, and by its words as it reads.
      const plain = kind === 'html' && isUtf8(bytes) && !looksBinary(bytes)
      return { plain, reason: null, text, title: read.title, grams: gramsOf(plain ? bytes : Buffer.from(text)) }
    }
  }
  const plain = await load()
  if (looksBinary(plain)) return none('binary')
  if (isUtf8(plain) && !startsMarked(plain))
    return { plain: true, reason: null, text: null, title: null, grams: gramsOf(plain) }
  if (kind === null && mime_type !== null && !startsMarked(plain)) return none('binary')
  const text = decode(plain).replaceAll('\0', '').toWellFormed()
  return { plain: false, reason: null, text, title: null, grams: gramsOf(Buffer.from(text)) }
}

/** UTF-16 with a byte order mark. That of UTF-8 may stay: ripgrep leaves it out as well, and so does this. */
const startsMarked = (bytes: Uint8Array): boolean =>
  (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) ||
  (bytes[0] === 0xff && bytes[1] === 0xfe) ||
  (bytes[0] === 0xfe && bytes[1] === 0xff)

/** What files say, by their hashes: the text of a document, or the bytes where they are text. What says nothing is left out. */
export async function textsOf(
  engine: TextSources,
  hashes: readonly string[],
  most: number,
): Promise<Map<string, { text: string; title: string | null }>> {
  const { rows } = await sql<{
    sha256: string
    plain: boolean
    text: string | null
    title: string | null
    place: string
  }>`
    select c.sha256, c.plain, left(c.text, ${most}) as text, c.title, b.place from contents c join blobs b on b.sha256 = c.sha256
    where c.sha256 = any(${hashes}::text[]) and c.indexed_at is not null and (c.plain or c.text is not null)`.execute(
    engine.postgres.db,
  )
  const said = async ({
    text,
    title,
    place,
  }: (typeof rows)[number]): Promise<{ text: string; title: string | null }> => {
    if (text !== null) return { text, title }
    const parts: Uint8Array[] = []
    // A character cut in two at the end becomes a replacement character.
    for await (const part of engine.blobs.read(place, { end: most })) parts.push(part)
    return { text: Buffer.concat(parts).toString().replaceAll('\0', ''), title }
  }
  const texts = new Map<string, { text: string; title: string | null }>()
  for (let at = 0; at < rows.length; at += AT_ONCE)
    await Promise.all(rows.slice(at, at + AT_ONCE).map(async (row) => void texts.set(row.sha256, await said(row))))
  return texts
}
