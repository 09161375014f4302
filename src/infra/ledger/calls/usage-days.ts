import { type SqlBool, sql } from 'kysely'
import type { Id } from '#core/ids.ts'
import { type Nano, toUsd } from '#core/money.ts'
import type { Billing, Usage } from '#core/usage.ts'
import type { Db } from '../../postgres/client.ts'
import { type Buckets, type UsageFilters, type CallsOwner, usageFrom } from './calls.ts'

declare module '../../postgres/tables.ts' {
  interface Database {
    usage_days: UsageDayTable
  }
}

/** Daily sums of calls per combination of these columns. Updated by each settlement. */
interface UsageDayTable extends Buckets {
  account_id: Id
  day: Date
  workspace_id: Id
  key_id: Id | null
  surface: string
  model: string
  provider: string
  billing: Billing
  calls: bigint
  failed: bigint
  cancelled: bigint
  unpriced: bigint
  cost_nano: Nano
  charged_nano: Nano
  refunded_nano: Nano
  overrun_nano: Nano
  first_token_ms: bigint
  first_token_calls: bigint
  duration_ms: bigint
}

export interface Sum {
  calls: number
  failed_calls: number
  cancelled_calls: number
  /** Calls to models without a price, which are not part of the cost. */
  unpriced_calls: number
  usage: Usage
  cost_usd: number
  charged_usd: number
  refunded_usd: number
  overrun_usd: number
  average_first_token_ms: number | null
  average_duration_ms: number | null
}

const dimensions = {
  model: 'model',
  provider: 'provider',
  key: 'key_id',
  day: 'day::text',
  billing: 'billing',
  surface: 'surface',
  account: 'account_id',
} as const
export type Dimension = keyof typeof dimensions

export interface UsageGroup {
  of: { [dimension in Dimension]?: string | null }
  sums: Sum
}

const counts = [
  'calls',
  'failed',
  'cancelled',
  'unpriced',
  'cost_nano',
  'charged_nano',
  'refunded_nano',
  'overrun_nano',
  'first_token_ms',
  'first_token_calls',
  'duration_ms',
  'input_tokens',
  'cache_read_tokens',
  'cache_write_5m_tokens',
  'cache_write_1h_tokens',
  'output_tokens',
  'reasoning_tokens',
  'images',
  'characters',
  'requests',
  'total_tokens',
] as const
type UsageCounts = Omit<
  UsageDayTable,
  'account_id' | 'day' | 'workspace_id' | 'key_id' | 'surface' | 'model' | 'provider' | 'billing'
>

/**
 * Sums for each set of dimensions in one pass: `[['model'], ['day', 'model'], []]` groups by model, by day and model,
 * and in total. Sorted by cost, days newest first; each set has up to `most` rows.
 */
export async function sumDays(
  db: Db,
  whose: CallsOwner,
  filters: UsageFilters,
  sets: readonly (readonly Dimension[])[],
  most = 1_000,
): Promise<UsageGroup[][]> {
  const dimensionList = [...new Set(sets.flat())]
  const columns = dimensionList.map((name) => sql`${sql.raw(dimensions[name])} as ${sql.ref(`by_${name}`)}`)
  const grouping = sets.map((set) => sql`(${sql.join(set.map((name) => sql.raw(dimensions[name])))})`)
  const bits =
    dimensionList.length === 0
      ? sql`0`
      : sql`grouping(${sql.join(dimensionList.map((name) => sql.raw(dimensions[name])))})`
  const { rows } = await sql<UsageCounts & { set: number; place: bigint } & Record<`by_${Dimension}`, string | null>>`
    with sums as (
      select ${sql.join([
        ...columns,
        sql`${bits} as set`,
        // Sums of int8 are numeric, which the driver returns as text. None comes near 2^63.
        ...counts.map((column) => sql`coalesce(sum(${sql.ref(column)}), 0)::int8 as ${sql.ref(column)}`),
        sql`coalesce(sum(audio_seconds), 0)::float8 as audio_seconds`,
        sql`coalesce(sum(video_seconds), 0)::float8 as video_seconds`,
      ])}
      from usage_days where ${narrow(whose, filters)}
      group by grouping sets (${sql.join(grouping)})
    ), placed as (
      select *, row_number() over (partition by set order by ${dimensionList.includes('day') ? sql`by_day desc nulls last,` : sql``}
        cost_nano desc, calls desc ${sql.join([sql``, ...dimensionList.map((name) => sql.ref(`by_${name}`))])}) as place from sums
    )
    select * from placed where place <= ${most} order by set, place`.execute(db)
  return sets.map((set) => {
    // PostgreSQL sets the bit of each column not grouped by; the first column's is highest.
    const groupingMask = dimensionList.reduce((sum, name) => sum * 2 + (set.includes(name) ? 0 : 1), 0)
    return rows
      .filter((row) => row.set === groupingMask)
      .map((row) => ({ of: Object.fromEntries(set.map((name) => [name, row[`by_${name}`]])), sums: showSum(row) }))
  })
}

export async function totalOf(db: Db, whose: CallsOwner, filters: UsageFilters = {}): Promise<Sum> {
  const [[total]] = (await sumDays(db, whose, filters, [[]])) as [[UsageGroup]]
  return total.sums
}

function narrow({ accountId, workspaceIds }: CallsOwner, filters: UsageFilters) {
  const { from, to, model, provider, keyId, surface, billing } = filters
  const all = [
    accountId !== undefined && sql<SqlBool>`account_id = ${accountId}`,
    workspaceIds !== undefined && sql<SqlBool>`workspace_id = any(${workspaceIds}::ulid[])`,
    from !== undefined && sql<SqlBool>`day >= ${from}::date`,
    to !== undefined && sql<SqlBool>`day <= ${to}::date`,
    model !== undefined && sql<SqlBool>`model = ${model}`,
    provider !== undefined && sql<SqlBool>`provider = ${provider}`,
    keyId !== undefined && sql<SqlBool>`key_id = ${keyId}`,
    surface !== undefined && sql<SqlBool>`surface = ${surface}`,
    billing !== undefined && sql<SqlBool>`billing = ${billing}`,
  ].filter((condition) => condition !== false)
  return all.length === 0 ? sql`true` : sql.join(all, sql` and `)
}

const showSum = (row: UsageCounts): Sum => ({
  calls: Number(row.calls),
  failed_calls: Number(row.failed),
  cancelled_calls: Number(row.cancelled),
  unpriced_calls: Number(row.unpriced),
  usage: usageFrom(row),
  cost_usd: toUsd(row.cost_nano),
  charged_usd: toUsd(row.charged_nano),
  refunded_usd: toUsd(row.refunded_nano),
  overrun_usd: toUsd(row.overrun_nano),
  average_first_token_ms: average(row.first_token_ms, row.first_token_calls),
  average_duration_ms: average(row.duration_ms, row.calls),
})

const average = (sum: bigint, count: bigint): number | null =>
  count === 0n ? null : Math.round(Number(sum) / Number(count))
