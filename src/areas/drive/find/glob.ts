import { setImmediate } from 'node:timers/promises'
import type { Context } from '#engine/context.ts'
import { type Glob, InvalidGlob, compileGlobs } from '#engine/search-engine/glob/glob.ts'
import { refuse } from '#kernel/errors.ts'
import type { Id } from '#kernel/ids.ts'
import { cursorOf, positionOf } from '#kernel/paging.ts'
import { type Position, findStore } from './find-store.ts'
import { within } from './within.ts'
import { showFile } from '../show.ts'
import { fileStore } from '../store.ts'

export const listOf = (value: string | string[] | undefined): string[] =>
  value === undefined ? [] : Array.isArray(value) ? value : [value]

/** The time that a find goes on in one call before it answers what it has. */
const MOST_MS = 10_000
/** The time that it goes on before others have their turn. */
export const TURN_MS = 25
const FIRST = 200
const MOST = 20_000

/** A folder as people write it: without slashes at its ends. */
export const belowOf = (path: string | undefined): string => (path ?? '').normalize('NFC').replace(/^\.?\/+|\/+$/g, '')

export function globOf(patterns: string[], fold: boolean, param: string): Glob {
  try {
    return compileGlobs(
      patterns.map((pattern) => pattern.normalize('NFC')),
      { fold },
    )
  } catch (error) {
    if (!(error instanceof InvalidGlob)) throw error
    return refuse('invalid_pattern', { param, message: error.message })
  }
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

/** The paths that the globs name, and the rows of one page of them. */
export async function findByGlob(ctx: Context, { cursor, limit, ...asked }: GlobQuery) {
  const patterns = listOf(asked.pattern)
  const fold = asked.case === 'insensitive' || (asked.case === 'smart' && !patterns.some((one) => /\p{Lu}/u.test(one)))
  const glob = globOf(patterns, fold, 'pattern')
  const below = belowOf(asked.path)
  const where = await within(ctx, asked.workspace_id)
  let from = positionAt(positionOf('glob', asked, cursor))
  const until = performance.now() + MOST_MS
  const hits: { id: Id; path: string }[] = []
  // A glob is held against the path below the folder that the search begins in, as ripgrep's is.
  const inner = (path: string): string => (below === '' ? path : path.slice(below.length + 1))
  const like = below === '' ? glob.like : '%'
  let truncated = false
  let looked = 0
  let breath = performance.now() + TURN_MS
  for (let window = Math.max(FIRST, limit + 1); hits.length <= limit; window = Math.min(MOST, window * 4)) {
    const rows = await findStore.paths(ctx.db, {
      ...where,
      kind: asked.type === 'any' ? null : asked.type,
      below,
      like,
      fold,
      from: from && { ...from, included: false },
      limit: window,
    })
    let late: Position | null = null
    for (const row of rows) {
      if (glob.matches(inner(row.path)) && hits.push(row) > limit) break
      if ((++looked & 3) !== 0) continue
      const now = performance.now()
      if (now > until) {
        late = place(row)
        break
      }
      if (now < breath) continue
      // A long glob and long paths take a while: others have their turn.
      await setImmediate()
      breath = performance.now() + TURN_MS
    }
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
  const shown = hits.slice(0, limit)
  const next = hits.length > limit ? place(shown.at(-1)!) : truncated ? from : null
  const rows = await fileStore.all(
    ctx.db,
    shown.map(({ id }) => id),
  )
  return {
    rows: rows.map(showFile),
    next: next && cursorOf('glob', asked, [next.path, next.id]),
    extra: { truncated },
  }
}

export const place = ({ path, id }: { path: string; id: Id }): Position => ({
  path: Array.from(path).slice(0, 400).join(''),
  id,
})
