import { type SqlBool, sql } from 'kysely'
import type { Selectable } from 'kysely'
import { cursorOf, pageOf, positionOf } from '#kernel/paging.ts'
import type { Id } from '#kernel/ids.ts'
import { type Nano, toUsd, usdOrNull } from '#kernel/money.ts'
import { iso } from '#kernel/time.ts'
import type { Usage } from '#kernel/usage.ts'
import type { Db } from '../postgres/client.ts'
import type { CallTable } from './tables.ts'

export type CallRow = Selectable<CallTable>

/** A stretch of UTC days, both included, `YYYY-MM-DD`. */
export interface Days {
  from?: string
  to?: string
}
/** Whose calls: of an account, or in workspaces. At least one of the two. */
export interface Whose {
  accountId?: Id
  workspaceIds?: readonly Id[]
}
export interface CallFilters extends Days {
  model?: string
  keyId?: Id
  provider?: string
}

const narrowed = (db: Db, { accountId, workspaceIds, from, to, model, keyId, provider }: Whose & CallFilters) => {
  let query = db.selectFrom('calls')
  if (accountId !== undefined) query = query.where('account_id', '=', accountId)
  if (workspaceIds !== undefined) query = query.where(sql<SqlBool>`workspace_id = any(${workspaceIds}::text[])`)
  if (from !== undefined) query = query.where(sql<SqlBool>`day >= ${from}::date`)
  if (to !== undefined) query = query.where(sql<SqlBool>`day <= ${to}::date`)
  if (model !== undefined) query = query.where('model', '=', model)
  if (keyId !== undefined) query = query.where('key_id', '=', keyId)
  if (provider !== undefined) query = query.where('provider', '=', provider)
  return query
}

/** Metered calls, newest first. Refuses with `invalid_cursor`. */
export async function callsPage(
  db: Db,
  whose: Whose,
  filters: CallFilters,
  { cursor, limit }: { cursor?: string | undefined; limit: number },
): Promise<{ rows: ShownCall[]; next: string | null }> {
  const bound = { ...whose, ...filters }
  const after = positionOf('calls', bound, cursor)
  let query = narrowed(db, bound)
    .selectAll()
    .orderBy('id', 'desc')
    .limit(limit + 1)
  if (after) query = query.where('id', '<', String(after[0]))
  return pageOf(await query.execute(), limit, ({ id }) => cursorOf('calls', bound, [id]), showCall)
}

export interface ShownCall {
  id: Id
  created_at: string
  workspace_id: Id
  key_id: Id | null
  chat_id: Id | null
  run_id: Id | null
  surface: string
  model: string
  provider: string
  billing: CallRow['billing']
  status: CallRow['status']
  usage: Usage
  cost_usd: number | null
  charged_usd: number
  refunded_usd: number
  overrun_usd: number
  cost_source: CallRow['cost_source']
  finish_reason: string | null
  first_token_ms: number | null
  duration_ms: number
  streamed: boolean
}

/** A call as the wire shows it. */
export function showCall(row: CallRow): ShownCall {
  const { id, workspace_id, key_id, chat_id, run_id, surface, model, provider, billing, status } = row
  return {
    id,
    created_at: iso(row.created_at),
    workspace_id,
    key_id,
    chat_id,
    run_id,
    surface,
    model,
    provider,
    billing,
    status,
    usage: usageFrom(row),
    cost_usd: usdOrNull(row.cost_nano),
    charged_usd: toUsd(row.charged_nano),
    refunded_usd: toUsd(row.refunded_nano),
    overrun_usd: toUsd(row.overrun_nano),
    cost_source: row.cost_source,
    finish_reason: row.finish_reason,
    first_token_ms: row.first_token_ms,
    duration_ms: row.duration_ms,
    streamed: row.streamed,
  }
}

type Buckets = Pick<CallRow, keyof Usage>
const usageFrom = (row: Buckets): Usage => ({
  input_tokens: Number(row.input_tokens),
  cache_read_tokens: Number(row.cache_read_tokens),
  cache_write_5m_tokens: Number(row.cache_write_5m_tokens),
  cache_write_1h_tokens: Number(row.cache_write_1h_tokens),
  output_tokens: Number(row.output_tokens),
  reasoning_tokens: Number(row.reasoning_tokens),
  images: Number(row.images),
  audio_seconds: row.audio_seconds,
  requests: Number(row.requests),
  total_tokens: Number(row.total_tokens),
})

export interface Sum {
  /** The model, provider, key id or UTC day; null for calls without a key. */
  name: string | null
  calls: number
  usage: Usage
  /** Of the calls that have a price. */
  cost_usd: number
  charged_usd: number
}

const summed = [
  'cost_nano',
  'charged_nano',
  'input_tokens',
  'cache_read_tokens',
  'cache_write_5m_tokens',
  'cache_write_1h_tokens',
  'output_tokens',
  'reasoning_tokens',
  'images',
  'requests',
  'total_tokens',
] as const
// A sum of int8 is numeric, which the driver gives as words: cast back, for no sum here comes near 2^63.
const sums = [
  sql<bigint>`count(*)`.as('calls'),
  sql<number>`coalesce(sum(audio_seconds), 0)::float8`.as('audio_seconds'),
  ...summed.map((column) => sql<bigint>`coalesce(sum(${sql.ref(column)}), 0)::int8`.as(column)),
] as const
type SumRow = Buckets & { name: string | null; calls: bigint; cost_nano: Nano; charged_nano: Nano }

const showSum = (row: SumRow): Sum => ({
  name: row.name,
  calls: Number(row.calls),
  usage: usageFrom(row),
  cost_usd: toUsd(row.cost_nano),
  charged_usd: toUsd(row.charged_nano),
})

const groups = {
  model: sql`model`,
  provider: sql`provider`,
  key: sql`key_id`,
  day: sql`day::text`,
  billing: sql`billing`,
} as const

/** Sums per model, provider, key, UTC day or way of billing, the dearest first; days newest first. */
export async function sumCalls(
  db: Db,
  whose: Whose,
  by: keyof typeof groups,
  filters: CallFilters = {},
  most = 1_000,
): Promise<Sum[]> {
  const query = narrowed(db, { ...whose, ...filters })
    .select(sql<string | null>`${groups[by]}`.as('name'))
    .select(sums)
    .groupBy(sql`1`)
    .orderBy(by === 'day' ? sql`1 desc` : sql`sum(cost_nano) desc nulls last, 1`)
    .limit(most)
  return ((await query.execute()) as SumRow[]).map(showSum)
}

/** All of it in one sum. */
export async function totalOf(db: Db, whose: Whose, filters: CallFilters = {}): Promise<Sum> {
  return showSum(
    await narrowed(db, { ...whose, ...filters })
      .select(sql<null>`null`.as('name'))
      .select(sums)
      .executeTakeFirstOrThrow(),
  )
}

/** What chats, runs or messages cost, many at once, per id. Those without calls are absent. */
export async function costsOf(
  db: Db,
  of: 'chat_id' | 'run_id' | 'message_id',
  ids: readonly Id[],
): Promise<Map<Id, Sum>> {
  if (ids.length === 0) return new Map()
  const rows = (await db
    .selectFrom('calls')
    .select(sql<string>`${sql.ref(of)}`.as('name'))
    .select(sums)
    .where(sql<SqlBool>`${sql.ref(of)} = any(${ids}::text[])`)
    .groupBy(of)
    .execute()) as SumRow[]
  return new Map(rows.map((row) => [row.name!, showSum(row)]))
}

/** The calls of a chat, oldest first: what each message and run cost. */
export const callsOfChat = (db: Db, chatId: Id): Promise<CallRow[]> =>
  db.selectFrom('calls').selectAll().where('chat_id', '=', chatId).orderBy('id').execute()
