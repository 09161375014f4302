import type { z } from 'zod'
import { nextPiece } from '#packages/fair-queue/slices.ts'
import type { Context } from '#infra/context.ts'
import type { Id } from '#core/ids.ts'
import { cursorOf, positionOf } from '#core/paging.ts'
import { iso } from '#core/time.ts'
import { type SearchHit, searchTypes } from '../contract.ts'
import { type SearchHandles, embedQuestion } from '../index/embedding.ts'
import { type FusedHit, fuse } from './fuse.ts'
import { type Span, snippetOf, spansOf } from './highlight.ts'
import { MAX_FOUND, type Row, queryStore } from './query-store.ts'
import { type Reach, type SearchType, reachOf } from './visible.ts'
import { type Words, wordsOf } from './words.ts'

interface SearchQuery {
  q: string
  types?: readonly SearchType[] | undefined
  workspace_id?: Id | undefined
  mode: 'hybrid' | 'keyword' | 'semantic'
}

/** With fewer keyword results, also searches titles with typos. */
const FEW = 10

export async function find(
  ctx: Context<SearchHandles>,
  { cursor, limit, ...query }: SearchQuery & { cursor?: string | undefined; limit: number },
) {
  const { q, mode } = query
  const reach = await reachOf(ctx, query.types ?? searchTypes, query.workspace_id)
  const position = positionOf('search', query, cursor)
  const words = wordsOf(q)
  if (reach.length === 0) return { rows: [], next: null, extra: { mode, degraded: [] } }
  // Concurrently, because embedding the query takes a moment.
  const [byWords, byMeaning, stems] = await Promise.all([
    mode === 'semantic' ? [] : searchByWords(ctx, reach, q, words),
    mode === 'keyword' ? null : searchByMeaning(ctx, reach, q),
    queryStore.stems(ctx.db, words),
  ])
  const degraded = typeof byMeaning === 'string' ? [byMeaning] : []
  const effectiveMode = typeof byMeaning === 'string' ? 'keyword' : mode
  const keyword =
    mode === 'semantic' && effectiveMode === 'keyword' ? await searchByWords(ctx, reach, q, words) : byWords
  const all = fuse([
    { by: 'keyword' as const, rows: keyword },
    ...(Array.isArray(byMeaning) ? [{ by: 'semantic' as const, rows: byMeaning }] : []),
  ]).slice(0, MAX_FOUND)
  // Continues after the last result shown. If it was deleted, skips as many as were shown.
  const lastIndex = position === null ? -1 : all.findIndex(({ row_id }) => String(row_id) === position[1])
  const start = position === null ? 0 : lastIndex >= 0 ? lastIndex + 1 : Number(position[0])
  const page = all.slice(start, start + limit)
  const rows = await queryStore.rows(
    ctx.db,
    reach,
    page.map(({ row_id }) => row_id),
  )
  const hasMore = all.length > start + page.length
  const pageHits = page.flatMap((hit) => {
    const row = rows.get(hit.row_id)
    return row === undefined ? [] : [{ row, hit }]
  })
  const hits = await showAll(ctx, pageHits, stems, words)
  return {
    rows: hits,
    next: hasMore ? cursorOf('search', query, [start + page.length, String(page.at(-1)!.row_id)]) : null,
    extra: { mode: effectiveMode, degraded },
  }
}

async function searchByMeaning(
  ctx: Context<SearchHandles>,
  reach: Reach,
  question: string,
): Promise<bigint[] | string> {
  const meaning = await embedQuestion(ctx, question)
  return typeof meaning === 'string'
    ? meaning
    : await queryStore.byMeaning(ctx.db, reach, meaning.model, meaning.vector)
}

async function searchByWords(ctx: Context, reach: Reach, question: string, words: Words): Promise<bigint[]> {
  const rows = await queryStore.byWords(ctx.db, reach, words)
  if (rows.length >= FEW || question.length > 100) return rows
  return [...rows, ...(await queryStore.byTitle(ctx.db, reach, question)).filter((id) => !rows.includes(id))]
}

/** Sequentially: a page can have a hundred texts of 100,000 characters. */
async function showAll(
  { principal }: Context,
  pageHits: readonly { row: Row; hit: FusedHit }[],
  stems: readonly string[],
  { prefix }: Words,
): Promise<z.output<typeof SearchHit>[]> {
  const hits: z.output<typeof SearchHit>[] = []
  let work = 0
  for (const { row, hit } of pageHits) {
    const snippets = snippetOf(row.body, stems, prefix)
    let step = snippets.next()
    for (; step.done !== true; step = snippets.next()) {
      if ((work += step.value) < 1) continue
      work = 0
      await nextPiece(principal.accountId)
    }
    hits.push(show(row, hit, stems, prefix, step.value))
  }
  return hits
}

function show(
  row: Row,
  { score, by }: FusedHit,
  stems: readonly string[],
  prefix: string | null,
  { snippet, spans }: { snippet: string; spans: Span[] },
): z.output<typeof SearchHit> {
  return {
    type: row.type,
    id: row.id,
    title: row.title,
    snippet,
    highlights: [
      ...spansOf(row.title, stems, prefix).map((span) => ({ field: 'title' as const, ...span })),
      ...spans.map((span) => ({ field: 'snippet' as const, ...span })),
    ],
    score,
    matched_by: by,
    parent_id: row.parent_id,
    workspace_id: row.workspace_id,
    created_at: iso(row.created_at),
    updated_at: iso(row.updated_at),
  }
}
