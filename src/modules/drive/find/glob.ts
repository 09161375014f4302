import { Busy } from '#packages/fair-queue/turns.ts'
import { visitInSlices } from '#packages/fair-queue/slices.ts'
import type { Context } from '#infra/context.ts'
import { type Glob, InvalidGlob, compileGlobs } from '#packages/linear-grep/glob/glob.ts'
import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { cursorOf, positionOf } from '#core/paging.ts'
import { type Position, findStore } from './find-store.ts'
import { within } from './within.ts'
import { showFile } from '../show.ts'
import { fileStore } from '../store.ts'

export const listOf = (value: string | string[] | undefined): string[] =>
  value === undefined ? [] : Array.isArray(value) ? value : [value]

const MAX_MS = 10_000
const FIRST = 200
const MAX = 20_000

export const belowOf = (path: string | undefined): string => (path ?? '').normalize('NFC').replace(/^\.?\/+|\/+$/g, '')

/** Throws a refusal that names the parameter, also if a path takes the globs too many steps. */
export function globOf(patterns: string[], fold: boolean, param: string): Glob {
  const orRefused = <T>(work: () => T): T => {
    try {
      return work()
    } catch (error) {
      if (!(error instanceof InvalidGlob)) throw error
      return refuse('invalid_pattern', { param, message: error.message })
    }
  }
  const { matches, like } = orRefused(() =>
    compileGlobs(
      patterns.map((pattern) => pattern.normalize('NFC')),
      { fold },
    ),
  )
  return { matches: (path) => orRefused(() => matches(path)), like }
}

/** Rejects a call whose account has too many queued searches. */
export function orBusy(error: unknown): never {
  if (!(error instanceof Busy)) throw error
  return refuse('unavailable', {
    message: 'Too many searches are waiting. Try again in a few seconds.',
    headers: { 'retry-after': '5' },
  })
}

export const positionAt = (position: (string | number)[] | null): Position | null =>
  position === null ? null : { path: String(position[0]), id: String(position[1]) }

interface GlobQuery {
  pattern: string | string[]
  path?: string | undefined
  workspace_id?: Id | undefined
  type: 'file' | 'folder' | 'any'
  case: 'sensitive' | 'insensitive' | 'smart'
  cursor?: string | undefined
  limit: number
}

export async function findByGlob(ctx: Context, { cursor, limit, ...query }: GlobQuery) {
  const patterns = listOf(query.pattern)
  const fold = query.case === 'insensitive' || (query.case === 'smart' && !patterns.some((one) => /\p{Lu}/u.test(one)))
  const glob = globOf(patterns, fold, 'pattern')
  const below = belowOf(query.path)
  const where = await within(ctx, query.workspace_id)
  let from = positionAt(positionOf('glob', query, cursor))
  const until = performance.now() + MAX_MS
  const hits: { id: Id; path: string }[] = []
  // As in ripgrep, globs match the path relative to the searched folder.
  const inner = (path: string): string => (below === '' ? path : path.slice(below.length + 1))
  const like = below === '' ? glob.like : '%'
  let truncated = false
  for (let window = Math.max(FIRST, limit + 1); hits.length <= limit; window = Math.min(MAX, window * 4)) {
    const rows = await findStore.paths(ctx.db, {
      ...where,
      kind: query.type === 'any' ? null : query.type,
      below,
      like,
      fold,
      from: from && { ...from, included: false },
      limit: window,
    })
    let late: Position | null = null
    const visit = (row: { id: Id; path: string }): boolean => {
      if (glob.matches(inner(row.path)) && hits.push(row) > limit) return false
      if (performance.now() > until) late = place(row)
      return late === null
    }
    await visitInSlices(ctx.principal.accountId, rows, visit, ctx.signal).catch(orBusy)
    if (late !== null && hits.length <= limit) {
      from = late
      truncated = true
      break
    }
    const last = rows.at(-1)
    if (rows.length < window || last === undefined) break
    from = { path: Array.from(last.path).slice(0, 400).join(''), id: last.id }
    truncated = hits.length <= limit && performance.now() > until
    if (truncated) break
  }
  const page = hits.slice(0, limit)
  const next = hits.length > limit ? place(page.at(-1)!) : truncated ? from : null
  const rows = await fileStore.all(
    ctx.db,
    page.map(({ id }) => id),
  )
  return {
    rows: rows.map(showFile),
    next: next && cursorOf('glob', query, [next.path, next.id]),
    extra: { truncated },
  }
}

export const place = ({ path, id }: { path: string; id: Id }): Position => ({
  path: Array.from(path).slice(0, 400).join(''),
  id,
})
