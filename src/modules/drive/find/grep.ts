import type { z } from 'zod'
import { visitInSlices } from '#packages/fair-queue/slices.ts'
import type { Context } from '#infra/context.ts'
import { compileGlobs } from '#packages/linear-grep/glob/glob.ts'
import type { GramQuery } from '#packages/linear-grep/regex/grams.ts'
import { InvalidPattern, type PatternSpec } from '#packages/linear-grep/regex/pattern.ts'
import type { ScanTask, ScanResult } from '#infra/text/scan/scan.ts'
import { fileTypes } from '#packages/linear-grep/glob/types.ts'
import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { cursorOf, positionOf, wholeAt } from '#core/paging.ts'
import type { GrepRow } from '../contract-finding.ts'
import { within } from './within.ts'
import { type Candidate, findStore } from './find-store.ts'
import { belowOf, globOf, listOf, orBusy, place, positionAt } from './glob.ts'
import { searchFiles } from './search-files.ts'

const MAX_MS = 10_000
const MAX_TOTALS_MS = 60_000
const FIRST = 256
const MAX = 20_000
/** The maximum skipped files per page; the next page continues with the rest. */
const MAX_SKIPPED = 10_000

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
  const grams = await gramsOr400(ctx, spec)
  const matchesPath = filterOf(asked)
  const below = belowOf(asked.path)
  const where = await within(ctx, asked.workspace_id)
  const position = positionOf('grep', asked, cursor)
  const afterLine = wholeAt(position, 2) ?? 0
  let from = positionAt(position)
  let included = from !== null && afterLine > 0
  const first = from?.id
  const until = performance.now() + (asked.totals ? MAX_TOTALS_MS : MAX_MS)
  const page = new PageRows(mode, limit)
  const totals = asked.totals ? { files: 0, count: 0 } : null
  let truncated = false
  let isDone = false
  for (let window = asked.totals ? MAX : FIRST; !isDone; window = Math.min(MAX, window * 4)) {
    const rows = await findStore.candidates(
      ctx.db,
      { ...where, kind: 'file', below, like: '%', fold: false, from: from && { ...from, included }, limit: window },
      grams,
    )
    const files: Candidate[] = []
    let late: Candidate | null = null
    const visit = (row: Candidate): boolean => {
      if (matchesPath(below === '' ? row.path : row.path.slice(below.length + 1))) files.push(row)
      if (performance.now() > until) late = row
      return late === null
    }
    await visitInSlices(ctx.principal.accountId, rows, visit, ctx.signal).catch(orBusy)
    const task = {
      spec,
      want: wantOf(mode, totals !== null),
      countAll: totals !== null,
      before: asked.before,
      after: asked.after,
      mostLines: limit + 1,
    }
    for await (const { file, scanned } of searchFiles(ctx, files, task, first === undefined ? 0 : afterLine, first)) {
      if (totals !== null && scanned.skipped === null && scanned.count > 0) {
        totals.files++
        totals.count += scanned.count
      }
      if (!page.take(file, scanned) && totals === null) {
        isDone = true
        break
      }
      if (performance.now() > until) {
        truncated = true
        from = place(file)
        isDone = true
        break
      }
    }
    const last: Candidate | undefined = late ?? rows.at(-1)
    if (last === undefined || (late === null && rows.length < window)) break
    if (!isDone) {
      from = place(last)
      included = false
      truncated = performance.now() > until
      isDone = truncated
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

async function gramsOr400(ctx: Context, spec: PatternSpec): Promise<GramQuery> {
  try {
    return await ctx.engine.scanner.prepare(ctx.principal.accountId, spec, ctx.signal)
  } catch (error) {
    if (!(error instanceof InvalidPattern)) return orBusy(error)
    return refuse('invalid_pattern', { param: 'pattern', message: error.message })
  }
}

function filterOf({ glob, type }: Pick<GrepQuery, 'glob' | 'type'>): (path: string) => boolean {
  const extensions = [...new Set(listOf(type))].map((name) => {
    if (!Object.hasOwn(fileTypes, name))
      refuse('invalid_parameter', {
        param: 'type',
        message: `The file type ${name} doesn’t exist. Available types: ${Object.keys(fileTypes).join(', ')}.`,
      })
    return compileGlobs(fileTypes[name]!)
  })
  const globs = glob === undefined ? null : globOf(listOf(glob), false, 'glob')
  return (path) =>
    (extensions.length === 0 || extensions.some((one) => one.matches(path))) && (globs === null || globs.matches(path))
}

class PageRows {
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

  /** False if the page is full and there is more. */
  take(file: Candidate, { lines, count, skipped }: ScanResult): boolean {
    if (this.next !== null) return false
    const { id, path, workspace_id } = file
    if (skipped !== null) {
      if (skipped === 'gone') return true
      if (this.skipped.length >= MAX_SKIPPED) {
        this.next = this.#last
        return false
      }
      this.skipped.push({ file_id: id, path, reason: skipped })
      this.#last = { ...place(file), line: 0 }
      return true
    }
    // Searched, but its extracted text is incomplete.
    if (file.reason === 'incomplete' && this.skipped.length < MAX_SKIPPED)
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
