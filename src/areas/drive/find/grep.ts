import { setImmediate } from 'node:timers/promises'
import type { z } from 'zod'
import { readBlob } from '#engine/blobs/keep.ts'
import type { Context } from '#engine/context.ts'
import { type DocumentKind, kindOf } from '#engine/text/documents/document.ts'
import { compileGlobs } from '#engine/search-engine/glob/glob.ts'
import { InvalidPattern, type Pattern, type PatternSpec, compile } from '#engine/search-engine/regex/pattern.ts'
import type { ScanFile, ScanTask, Scanned } from '#engine/text/scan/scan.ts'
import { fileTypes } from '#engine/search-engine/glob/types.ts'
import { refuse } from '#kernel/errors.ts'
import type { Id } from '#kernel/ids.ts'
import { cursorOf, positionOf, wholeAt } from '#kernel/paging.ts'
import type { GrepRow } from '../contract-finding.ts'
import { within } from './within.ts'
import { type Candidate, findStore } from './find-store.ts'
import { TURN_MS, belowOf, globOf, listOf, place, positionAt } from './glob.ts'

const MOST_MS = 10_000
const MOST_TOTALS_MS = 60_000
const FIRST = 256
const MOST = 20_000
/** Files that go to a thread together. */
const TASK_FILES = 128
const TASK_BYTES = 8 << 20
/** A page names no more than so many of those it skipped; the next page goes on there. */
const MOST_SKIPPED = 10_000

export interface GrepQuery {
  pattern: string
  mode: 'content' | 'files' | 'count'
  path?: string | undefined
  glob?: string | string[] | undefined
  workspace_id?: Id | undefined
  type?: string | string[] | undefined
  case: 'sensitive' | 'insensitive' | 'smart'
  before: number
  after: number
  multiline: boolean
  fixed: boolean
  totals: boolean
  cursor?: string | undefined
  limit: number
}

export async function grep(ctx: Context, { cursor, limit, ...asked }: GrepQuery) {
  const { pattern: source, multiline, fixed, mode } = asked
  const spec: PatternSpec = { pattern: source, case: asked.case, multiline, fixed }
  const pattern = compiledOr400(spec)
  const wanted = filterOf(asked)
  const below = belowOf(asked.path)
  const where = await within(ctx, asked.workspace_id)
  const position = positionOf('grep', asked, cursor)
  const afterLine = wholeAt(position, 2) ?? 0
  let from = positionAt(position)
  let included = from !== null && afterLine > 0
  const first = from?.id
  const until = performance.now() + (asked.totals ? MOST_TOTALS_MS : MOST_MS)
  const page = new Found(mode, limit)
  const totals = asked.totals ? { files: 0, count: 0 } : null
  let truncated = false
  let done = false
  let breath = performance.now() + TURN_MS
  for (let window = asked.totals ? MOST : FIRST; !done; window = Math.min(MOST, window * 4)) {
    const rows = await findStore.candidates(
      ctx.db,
      { ...where, kind: 'file', below, like: '%', fold: false, from: from && { ...from, included }, limit: window },
      pattern.grams,
    )
    const files: Candidate[] = []
    for (const row of rows) {
      if (wanted(below === '' ? row.path : row.path.slice(below.length + 1))) files.push(row)
      if (performance.now() < breath) continue
      await setImmediate()
      breath = performance.now() + TURN_MS
    }
    const task = {
      spec,
      want: wantOf(mode, totals !== null),
      countAll: totals !== null,
      before: asked.before,
      after: asked.after,
      mostLines: limit + 1,
    }
    for await (const { file, scanned } of search(ctx, files, task, first === undefined ? 0 : afterLine, first)) {
      if (totals !== null && scanned.skipped === null && scanned.count > 0) {
        totals.files++
        totals.count += scanned.count
      }
      if (!page.take(file, scanned) && totals === null) {
        done = true
        break
      }
      if (performance.now() > until) {
        truncated = true
        from = place(file)
        done = true
        break
      }
    }
    const last = rows.at(-1)
    if (rows.length < window || last === undefined) break
    if (!done) {
      from = place(last)
      included = false
      truncated = performance.now() > until
      done = truncated
    }
  }
  const next = page.next ?? (truncated && from !== null ? { ...from, line: 0 } : null)
  return {
    rows: page.rows,
    next: next && cursorOf('grep', asked, [next.path, next.id, next.line]),
    extra: { truncated, skipped_files: page.skipped, totals },
  }
}

const wantOf = (mode: GrepQuery['mode'], totals: boolean): ScanTask['want'] =>
  mode === 'content' ? 'lines' : mode === 'files' && !totals ? 'any' : 'count'

function compiledOr400(spec: PatternSpec): Pattern {
  try {
    return compile(spec)
  } catch (error) {
    if (!(error instanceof InvalidPattern)) throw error
    return refuse('invalid_pattern', { param: 'pattern', message: error.message })
  }
}

function filterOf({ glob, type }: Pick<GrepQuery, 'glob' | 'type'>): (path: string) => boolean {
  const named = listOf(type).map((name) => {
    if (!Object.hasOwn(fileTypes, name))
      refuse('invalid_parameter', {
        param: 'type',
        message: `There is no file type ${name}. There are: ${Object.keys(fileTypes).join(', ')}.`,
      })
    return compileGlobs(fileTypes[name]!)
  })
  const globs = glob === undefined ? null : globOf(listOf(glob), false, 'glob')
  return (path) =>
    (named.length === 0 || named.some((one) => one.matches(path))) && (globs === null || globs.matches(path))
}

/** The rows of a page, taken in order. */
class Found {
  readonly rows: z.output<typeof GrepRow>[] = []
  readonly skipped: { file_id: Id; path: string; reason: string }[] = []
  next: { path: string; id: Id; line: number } | null = null
  #last: { path: string; id: Id; line: number } | null = null
  readonly #mode: GrepQuery['mode']
  readonly #limit: number
  constructor(mode: GrepQuery['mode'], limit: number) {
    this.#mode = mode
    this.#limit = limit
  }

  /** False when the page is full and there is more. */
  take(file: Candidate, { lines, count, skipped }: Scanned): boolean {
    if (this.next !== null) return false
    const { id, path, workspace_id } = file
    if (skipped !== null) {
      if (skipped === 'gone') return true
      if (this.skipped.length >= MOST_SKIPPED) {
        this.next = this.#last
        return false
      }
      this.skipped.push({ file_id: id, path, reason: skipped })
      this.#last = { ...place(file), line: 0 }
      return true
    }
    // Searched, but not all that a person sees of it.
    if (file.reason === 'incomplete' && this.skipped.length < MOST_SKIPPED)
      this.skipped.push({ file_id: id, path, reason: file.reason })
    const about = { file_id: id, workspace_id, path }
    const rows: z.output<typeof GrepRow>[] =
      this.#mode === 'content'
        ? lines.map((line) => ({ ...about, ...line }))
        : count > 0
          ? [{ ...about, count: this.#mode === 'files' ? 1 : count }]
          : []
    for (const row of rows) {
      if (this.rows.length >= this.#limit) {
        this.next = this.#last
        return false
      }
      this.rows.push(row)
      this.#last = { ...place(file), line: row.line ?? 0 }
    }
    return true
  }
}

type Task = Omit<ScanTask, 'files'>

/**
 * Searches files and yields each with its hits, in their order; threads work ahead while the caller still wants more.
 */
async function* search(
  ctx: Context,
  files: readonly Candidate[],
  task: Task,
  afterLine: number,
  first: Id | undefined,
): AsyncGenerator<{ file: Candidate; scanned: Scanned }> {
  const { scanner } = ctx.engine
  const waiting: Promise<{ file: Candidate; scanned: Scanned }[]>[] = []
  const parts = tasksOf(files)
  try {
    for (;;) {
      while (waiting.length < scanner.width * 2) {
        const part = parts.next()
        if (part.done) break
        waiting.push(scanPart(ctx, part.value, task, afterLine, first))
      }
      const ready = waiting.shift()
      if (ready === undefined) return
      yield* await ready
    }
  } finally {
    await Promise.allSettled(waiting)
  }
}

/** The candidates in tasks, small ones at first, so that a page that is full soon costs little. */
function* tasksOf(files: readonly Candidate[]): Generator<Candidate[]> {
  let part: Candidate[] = []
  let bytes = 0
  let most = 16
  for (const file of files) {
    part.push(file)
    bytes += Number(file.size_bytes)
    if (part.length < most && bytes < TASK_BYTES) continue
    yield part
    part = []
    bytes = 0
    most = Math.min(TASK_FILES, most * 2)
  }
  if (part.length > 0) yield part
}

async function scanPart(ctx: Context, part: Candidate[], task: Task, afterLine: number, first: Id | undefined) {
  const { blobs, scanner } = ctx.engine
  const texts = await findStore.texts(
    ctx.db,
    part.filter(({ plain, has_text }) => !plain && has_text).map(({ sha256 }) => sha256),
  )
  const answers: Scanned[] = part.map((file, index) => ({
    index,
    count: 0,
    lines: [],
    more: false,
    skipped: unsearchable(file),
  }))
  const files: ScanFile[] = []
  for (const [index, file] of part.entries()) {
    if (answers[index]!.skipped !== null) continue
    const text = file.plain ? undefined : texts.get(file.sha256)
    const path = text === undefined ? blobs.pathOf(file.place) : null
    const source =
      text !== undefined
        ? { bytes: Buffer.from(text) }
        : path !== null
          ? { path }
          : { bytes: await wholeBlob(ctx, file.sha256) }
    files.push({ index, source, plain: file.plain || text !== undefined })
  }
  // A file that the page before ended in goes on behind the line that was shown last.
  const resumed = first !== undefined && afterLine > 0 && part[0]?.id === first
  const mostLines = resumed ? afterLine + task.mostLines : task.mostLines
  if (files.length > 0)
    for (const scanned of await scanner.scan({ ...task, mostLines, files })) answers[scanned.index] = scanned
  return part.map((file, index) => {
    const scanned = answers[index]!
    if (!(resumed && index === 0)) return { file, scanned }
    const lines = scanned.lines.filter(({ line }) => line > afterLine)
    return { file, scanned: { ...scanned, lines } }
  })
}

type Skip = Exclude<Scanned['skipped'], null>

/** The reason why a file cannot be searched, as far as it is known before. */
function unsearchable({ waiting, reason, size_bytes, plain, has_text, mime_type, name }: Candidate): Skip | null {
  if (reason !== null && reason !== 'incomplete') return reason as Skip
  // A file that nobody has looked at yet is searched as it is, unless it is too large for that.
  if (waiting)
    return Number(size_bytes) > MOST_PLAIN || isOffice(kindOf(mime_type, name)) ? ('not_indexed_yet' as Skip) : null
  return plain || has_text ? null : ('not_indexed_yet' as Skip)
}
const MOST_PLAIN = 32 << 20
const isOffice = (kind: DocumentKind | null): boolean => kind !== null && kind !== 'text' && kind !== 'html'

async function wholeBlob(ctx: Context, sha256: string): Promise<Buffer> {
  const parts: Uint8Array[] = []
  for await (const part of readBlob(ctx.engine, sha256)) parts.push(part)
  return Buffer.concat(parts)
}
