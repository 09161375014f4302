import { setImmediate } from 'node:timers/promises'
import { readBlob } from '#infra/blobs/keep.ts'
import { learnContents } from '#infra/text/index/contents.ts'
import type { Context } from '#infra/context.ts'
import { Unreadable, kindOf } from '#infra/text/documents/document.ts'
import type { LineSpec } from '#packages/linear-grep/regex/line-pattern.ts'
import { InvalidPattern } from '#packages/linear-grep/regex/pattern.ts'
import { refuse } from '#core/errors.ts'
import { findStore } from '../find/find-store.ts'
import { orBusy } from '../find/glob.ts'
import { encodingOf } from '../bytes/encoding.ts'
import { type Line, MAX_TEXT_BYTES, countLines, eachLine, isPlain } from './lines.ts'
import type { FileRow } from '../store.ts'

/** The maximum number of bytes searched for a pattern; the rest is reported as not searched. */
const MAX_SEARCHED_BYTES = 512 << 20
const MAX_MS = 30_000
const PIECE_BYTES = 65_536
/** How long counting lines may block this thread. */
const SLICE_MS = 10

export type TextQuery =
  | { kind: 'page'; offset: number; limit: number }
  | { kind: 'tail'; lines: number }
  | { kind: 'pattern'; pattern: LineSpec; context: number; offset: number; limit: number }

export interface ShownLine {
  number: number
  text: string
  /** Whether it matches. Null without a pattern. */
  match: boolean | null
}
export interface Text {
  lines: ShownLine[]
  total_lines: number | null
  truncated: boolean
  encoding: string
}

/** Marks a document without text, or with only part of it. */
type Missing = 'no_text' | 'incomplete'

/** `account`: whose turn is used to extract a document's text. */
type Reading = Pick<Context, 'engine' | 'db' | 'signal'> & { account: string }
type ReadableRow = Pick<FileRow, 'sha256' | 'mime_type' | 'name' | 'size_bytes'>
type Parts = (range?: { start?: number; end?: number }) => AsyncIterable<Uint8Array>

export async function readText(
  ctx: Reading,
  row: ReadableRow,
  asked: TextQuery,
): Promise<Text & { extracted: boolean; reason: Missing | null }> {
  const { sha256, mime_type } = row
  if (sha256 === null) return refuse('invalid_parameter', { param: 'id', message: 'Folders have no text.' })
  const parts: Parts = (range = {}) => until(readBlob(ctx.engine, sha256, { ...range, reuse: true }), ctx.signal)
  if (asked.kind === 'pattern') await hitsIn(ctx, asked.pattern, [])
  const document = await documentText(ctx, row)
  if (typeof document === 'object' && document !== null) {
    const bytes = Buffer.from(document.text)
    const readParts: Parts = async function* ({ start, end } = {}) {
      yield bytes.subarray(start, end)
    }
    return { ...(await linesOf(ctx, readParts, 'utf-8', asked)), extracted: true, reason: document.missing }
  }
  const encoding = await encodingOf(ctx, row)
  // A file with a document's type may actually be text.
  if (encoding === null || (document !== null && encoding !== 'utf-8'))
    return refuse('unsupported_media_type', {
      message: `This file isn’t text. Its type is ${mime_type}${document === null ? '' : `, and it can’t be read (${document})`}. Download it instead.`,
      details: { mime_type, ...(document !== null && { reason: document }) },
    })
  return { ...(await linesOf(ctx, parts, encoding, asked)), extracted: false, reason: null }
}

/** Returns a document's text, or why there is none; null if it isn't a document. New documents are extracted now. */
async function documentText(
  ctx: Reading,
  { sha256, mime_type, name, size_bytes }: ReadableRow,
): Promise<{ text: string; missing: Missing | null } | string | null> {
  const kind = kindOf(mime_type, name)
  if (kind === null || kind === 'text' || kind === 'html') return null
  const of = { sha256: sha256!, mime_type, name, size_bytes: size_bytes!, account: ctx.account }
  const contents = await learnContents(ctx.engine, [of], { documents: true }).catch((error: unknown) => {
    if (error instanceof Unreadable)
      return refuse('unavailable', { message: error.message, headers: { 'retry-after': '5' } })
    throw error
  })
  if (contents.pending.size > 0)
    refuse('unavailable', { message: 'The text of this document is being extracted. Try again in a few seconds.' })
  const { text, reason } = await findStore.learnt(ctx.db, of.sha256)
  return text === null ? (reason ?? 'binary') : { text, missing: reason as Missing | null }
}

/** Streams, so memory use doesn't depend on the length of the text or its lines. */
async function linesOf(ctx: Reading, parts: Parts, encoding: string, query: TextQuery): Promise<Text> {
  if (query.kind === 'page') return { ...(await page(parts(), encoding, query)), encoding }
  if (query.kind === 'pattern') return { ...(await search(ctx, parts(), encoding, query)), encoding }
  const { total, marks } = isPlain(encoding)
    ? await countLines(parts())
    : { total: await eachLine(parts(), encoding, none, stop), marks: [] }
  const from = Math.max(1, total - query.lines + 1)
  const mark = marks.findLast(({ line }) => line <= from) ?? { line: 1, byte: 0 }
  const { lines, truncated } = await page(parts({ start: mark.byte }), encoding, {
    offset: from - mark.line,
    limit: query.lines,
  })
  const numbered = lines.map((line) => ({ ...line, number: line.number + mark.line - 1 }))
  return { lines: numbered, total_lines: total, truncated, encoding }
}

const none = () => false
const stop = () => true

type LinesFound = Pick<Text, 'lines' | 'total_lines' | 'truncated'>

async function page(
  parts: AsyncIterable<Uint8Array>,
  encoding: string,
  { offset, limit }: { offset: number; limit: number },
): Promise<LinesFound> {
  const room = roomFor()
  const lines: ShownLine[] = []
  let full = false
  let isTruncated = false
  const total_lines = await eachLine(
    parts,
    encoding,
    (number) => !full && number > offset && number <= offset + limit,
    (line) => {
      isTruncated ||= line.cut
      if (room(line)) lines.push({ number: line.number, text: line.text, match: null })
      else full = true
      return true
    },
  )
  return { lines, total_lines, truncated: isTruncated || full || total_lines > offset + limit }
}

/** Returns `limit` matching lines after the first `offset`, each with context. */
async function search(
  ctx: Reading,
  parts: AsyncIterable<Uint8Array>,
  encoding: string,
  { pattern, context, offset, limit }: Extract<TextQuery, { kind: 'pattern' }>,
): Promise<LinesFound> {
  const room = roomFor()
  const lines: ShownLine[] = []
  let before: Line[] = []
  let matches = 0
  let after = 0
  let more = false
  let searching = true
  const searched = { bytes: 0, over: false }
  const show = (line: Line, match: boolean): void => {
    more ||= line.cut
    if (searching && !room(line)) {
      more = true
      searching = false
    }
    if (searching) lines.push({ number: line.number, text: line.text, match })
  }
  const visit = (line: Line, match: boolean): void => {
    if (match) matches += 1
    more ||= matches > offset + limit
    if (more && after === 0) searching = false
    else if (match && !more && matches > offset) {
      for (const earlier of before) show(earlier, false)
      before = []
      show(line, true)
      after = context
    } else if (after > 0) {
      show(line, match)
      after -= 1
    } else if (context > 0) before = [...before, line].slice(-context)
  }
  let pendingLines: Line[] = []
  const flush = async (): Promise<void> => {
    const batch = pendingLines
    pendingLines = []
    if (batch.length === 0 || !searching) return
    const texts = batch.map(({ text }) => text)
    const hits = await hitsIn(ctx, pattern, texts)
    for (const [i, hit] of hits.entries()) if (searching) visit(batch[i]!, hit)
    // The rest would take the pattern too much work.
    searched.over ||= hits.length < batch.length
  }
  const total = await eachLine(
    counted(parts, searched, flush),
    encoding,
    () => searching && !searched.over,
    (line) => {
      pendingLines.push(line)
      return true
    },
  )
  await flush()
  return { lines, total_lines: total, truncated: more || searched.over }
}

/** Matches lines in a worker thread, in the account's turn. */
async function hitsIn(ctx: Reading, pattern: LineSpec, lines: readonly string[]): Promise<boolean[]> {
  try {
    return await ctx.engine.scanner.hits(ctx.account, pattern, lines, ctx.signal)
  } catch (error) {
    if (!(error instanceof InvalidPattern)) return orBusy(error)
    return refuse('invalid_pattern', { param: 'pattern', message: error.message })
  }
}

function roomFor(): (line: Line) => boolean {
  let bytesLeft = MAX_TEXT_BYTES
  return ({ text }) => (bytesLeft -= text.length + 32) >= 0
}

/** Yields parts one by one, so each part's lines are searched before the next, up to the search limit. */
async function* counted(
  parts: AsyncIterable<Uint8Array>,
  so: { bytes: number; over: boolean },
  flush: () => Promise<void>,
): AsyncGenerator<Uint8Array> {
  const until = performance.now() + MAX_MS
  let breath = performance.now() + SLICE_MS
  for await (const part of parts)
    for (let at = 0; at < part.length; at += PIECE_BYTES) {
      const piece = part.subarray(at, at + PIECE_BYTES)
      so.bytes += piece.length
      so.over ||= so.bytes > MAX_SEARCHED_BYTES || performance.now() > until
      yield piece
      await flush()
      if (performance.now() < breath) continue
      await setImmediate()
      breath = performance.now() + SLICE_MS
    }
}

async function* until(parts: AsyncIterable<Uint8Array>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  for await (const part of parts) {
    if (signal.aborted) return
    yield part
  }
}
