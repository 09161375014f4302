import { type SqlBool, sql } from 'kysely'
import type { Selectable } from 'kysely'
import { cursorOf, pageOf, positionOf } from '#core/paging.ts'
import { type Id, firstIdAt } from '#core/ids.ts'
import { type Nano, toUsd, usdOrNull } from '#core/money.ts'
import { iso } from '#core/time.ts'
import type { Billing, Usage } from '#core/usage.ts'
import type { Db } from '../../postgres/client.ts'
import type { CallTable } from './tables.ts'

export type CallRow = Selectable<CallTable>

/** Calls of an account, of workspaces, or of both; neither: all calls. */
export interface CallsOwner {
  accountId?: Id | undefined
  workspaceIds?: readonly Id[] | undefined
}

export interface UsageFilters {
  /** UTC days, inclusive, `YYYY-MM-DD`. */
  from?: string | undefined
  to?: string | undefined
  model?: string | undefined
  provider?: string | undefined
  keyId?: Id | undefined
  surface?: string | undefined
  billing?: Billing | undefined
}

const DAY_MS = 86_400_000
/** An ID is created with the request, which may wait before the call starts. */
const ID_BEFORE_MS = 2 * DAY_MS

const firstIdOn = (day: string, more: number): Id => firstIdAt(Math.max(0, Date.parse(day) + more))

/** IDs sort by time, so a day needs no separate index. */
const narrow = (
  db: Db,
  { accountId, workspaceIds, from, to, model, keyId, provider, surface, billing }: CallsOwner & UsageFilters,
) => {
  let query = db.selectFrom('calls')
  if (accountId !== undefined) query = query.where('account_id', '=', accountId)
  if (workspaceIds !== undefined) query = query.where(sql<SqlBool>`workspace_id = any(${workspaceIds}::ulid[])`)
  if (from !== undefined)
    query = query.where(sql<SqlBool>`day >= ${from}::date`).where('id', '>=', firstIdOn(from, -ID_BEFORE_MS))
  if (to !== undefined)
    query = query.where(sql<SqlBool>`day <= ${to}::date`).where('id', '<', firstIdOn(to, 2 * DAY_MS))
  if (model !== undefined) query = query.where('model', '=', model)
  if (keyId !== undefined) query = query.where('key_id', '=', keyId)
  if (provider !== undefined) query = query.where('provider', '=', provider)
  if (surface !== undefined) query = query.where('surface', '=', surface)
  if (billing !== undefined) query = query.where('billing', '=', billing)
  return query
}

/** Newest first. Throws `invalid_cursor`. */
export async function callsPage(
  db: Db,
  whose: CallsOwner,
  filters: UsageFilters,
  { cursor, limit }: { cursor?: string | undefined; limit: number },
): Promise<{ rows: ShownCall[]; next: string | null }> {
  const scope = { ...whose, ...filters }
  const after = positionOf('calls', scope, cursor)
  let query = narrow(db, scope)
    .selectAll()
    .orderBy('id', 'desc')
    .limit(limit + 1)
  if (after) query = query.where('id', '<', String(after[0]))
  return pageOf(await query.execute(), limit, ({ id }) => cursorOf('calls', scope, [id]), showCall)
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

export type Buckets = Pick<CallRow, keyof Usage>
export const usageFrom = (row: Buckets): Usage => ({
  input_tokens: Number(row.input_tokens),
  cache_read_tokens: Number(row.cache_read_tokens),
  cache_write_5m_tokens: Number(row.cache_write_5m_tokens),
  cache_write_1h_tokens: Number(row.cache_write_1h_tokens),
  output_tokens: Number(row.output_tokens),
  reasoning_tokens: Number(row.reasoning_tokens),
  images: Number(row.images),
  audio_seconds: row.audio_seconds,
  video_seconds: row.video_seconds,
  characters: Number(row.characters),
  requests: Number(row.requests),
  total_tokens: Number(row.total_tokens),
})

/** Costs of chats, runs, or messages by ID, in nano-dollars. Missing without a priced call. */
export async function costsOf(
  db: Db,
  of: 'chat_id' | 'run_id' | 'message_id',
  ids: readonly Id[],
): Promise<Map<Id, Nano>> {
  if (ids.length === 0) return new Map()
  const rows = await db
    .selectFrom('calls')
    .select([sql<Id>`${sql.ref(of)}`.as('name'), sql<Nano>`sum(cost_nano)::int8`.as('cost')])
    .where(sql<SqlBool>`${sql.ref(of)} = any(${ids}::ulid[])`)
    .where('cost_nano', 'is not', null)
    .groupBy(of)
    .execute()
  return new Map(rows.map(({ name, cost }) => [name, cost]))
}
