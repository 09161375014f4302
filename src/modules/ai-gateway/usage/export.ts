import type { Context } from '#infra/context.ts'
import { type CallsOwner, type ShownCall, type UsageFilters, callsPage } from '#infra/ledger/calls/calls.ts'
import type { Bytes } from '#core/answers.ts'
import type { Id } from '#core/ids.ts'
import { csvLine } from '#core/text/csv.ts'
import { viewOf } from './report.ts'

const PAGE = 1_000
const MAX = 100_000

interface Query extends Pick<UsageFilters, 'from' | 'to' | 'model' | 'provider' | 'surface' | 'billing'> {
  workspace_id?: Id | undefined
  instance?: boolean | undefined
  key_id?: Id | undefined
}

const columns: readonly (readonly [name: string, of: (call: ShownCall) => string | number | boolean | null])[] = [
  ['id', ({ id }) => id],
  ['created_at', ({ created_at }) => created_at],
  ['workspace_id', ({ workspace_id }) => workspace_id],
  ['key_id', ({ key_id }) => key_id],
  ['surface', ({ surface }) => surface],
  ['model', ({ model }) => model],
  ['provider', ({ provider }) => provider],
  ['billing', ({ billing }) => billing],
  ['status', ({ status }) => status],
  ['input_tokens', ({ usage }) => usage.input_tokens],
  ['cache_read_tokens', ({ usage }) => usage.cache_read_tokens],
  ['output_tokens', ({ usage }) => usage.output_tokens],
  ['reasoning_tokens', ({ usage }) => usage.reasoning_tokens],
  ['total_tokens', ({ usage }) => usage.total_tokens],
  ['images', ({ usage }) => usage.images],
  ['audio_seconds', ({ usage }) => usage.audio_seconds],
  ['video_seconds', ({ usage }) => usage.video_seconds],
  ['characters', ({ usage }) => usage.characters],
  ['cost_usd', ({ cost_usd }) => cost_usd],
  ['charged_usd', ({ charged_usd }) => charged_usd],
  ['cost_source', ({ cost_source }) => cost_source],
  ['first_token_ms', ({ first_token_ms }) => first_token_ms],
  ['duration_ms', ({ duration_ms }) => duration_ms],
  ['streamed', ({ streamed }) => streamed],
]

/** RFC 4180, streamed page by page. */
export async function exportUsage(ctx: Context, { workspace_id, instance, key_id, ...filters }: Query): Promise<Bytes> {
  const { whose } = viewOf(ctx, workspace_id, instance === true)
  await ctx.engine.ledger.flush()
  return {
    headers: {
      'content-type': 'text/csv; charset=utf-8; header=present',
      'content-disposition': 'attachment; filename="usage.csv"',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    },
    body: writeRows(ctx, whose, { ...filters, keyId: key_id }),
  }
}

async function* writeRows(ctx: Context, whose: CallsOwner, filters: UsageFilters): AsyncGenerator<Uint8Array> {
  yield Buffer.from(csvLine(columns.map(([name]) => name)))
  let cursor: string | undefined
  for (let remaining = MAX; remaining > 0; remaining -= PAGE) {
    const { rows, next } = await callsPage(ctx.db, whose, filters, { cursor, limit: Math.min(PAGE, remaining) })
    if (rows.length > 0) yield Buffer.from(rows.map((call) => csvLine(columns.map(([, of]) => of(call)))).join(''))
    if (next === null) return
    cursor = next
  }
}
