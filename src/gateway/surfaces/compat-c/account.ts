import { refuse } from '#core/errors.ts'
import { parseId } from '#core/ids.ts'
import { toUsd } from '#core/money.ts'
import { hasScope } from '#core/principal.ts'
import { iso } from '#core/time.ts'
import type { CallRow } from '#infra/ledger/calls/calls.ts'
import type { KeyUsage } from '../../request/usage-lookup.ts'
import type { ListedOffer } from '../../model/offer.ts'
import type { FinishReason } from '../../model/canonical-request.ts'
import type { GatewayRequest } from '../../request/request.ts'
import { endpointRow } from './endpoints.ts'
import { shorten } from '#core/text/shorten.ts'

/** Each answers `{data}`. */
export const accountReads: Readonly<Record<string, (request: GatewayRequest) => void>> = {
  '/key': showKey,
  '/auth/key': showKey,
  '/credits': showCredits,
  '/generation': showGeneration,
  '/providers': showProviders,
  '/models/count': (request) => withModels(request, (rows) => request.json(200, { data: { count: rows.length } })),
  '/models/user': (request) =>
    withModels(request, (rows) => request.json(200, request.surface.models(rows, new URLSearchParams()))),
  '/endpoints/zdr': (request) =>
    withModels(request, (rows) => {
      const withoutRetention = rows.filter(({ endpoint }) => endpoint.dataPolicy?.keeps === false)
      request.json(200, { data: withoutRetention.map((row) => endpointRow(row, request.gateway.health)) })
    }),
}

const withModels = (request: GatewayRequest, work: (rows: readonly ListedOffer[]) => void): void =>
  request.after(request.gateway.directory.models(request.caller.principal), work)

function showKey(request: GatewayRequest): void {
  const { principal } = request.caller
  request.after(request.gateway.usageLookup.key(principal), (usage) => {
    if (usage === null) return refuse('not_found', { message: 'This credential isn’t an API key.' })
    request.json(200, { data: writeKey(usage, principal) })
  })
}

const resets = { day: 'daily', week: 'weekly', month: 'monthly', total: null } as const

function writeKey(
  { name, spent, byok }: KeyUsage,
  { credential, accountId }: GatewayRequest['caller']['principal'],
): object {
  const cap = credential.kind === 'key' ? credential.spendCap : null
  const limit = cap === null ? null : toUsd(cap.nano)
  const own = (period: keyof typeof spent): number => round(Math.max(0, spent[period] - byok[period]))
  return {
    label: name,
    limit,
    limit_remaining: cap === null ? null : round(Math.max(0, toUsd(cap.nano) - spent[cap.period])),
    limit_reset: cap === null ? null : resets[cap.period],
    include_byok_in_limit: true,
    usage: own('total'),
    usage_daily: own('day'),
    usage_weekly: own('week'),
    usage_monthly: own('month'),
    byok_usage: byok.total,
    byok_usage_daily: byok.day,
    byok_usage_weekly: byok.week,
    byok_usage_monthly: byok.month,
    is_free_tier: false,
    is_management_key: false,
    is_provisioning_key: false,
    expires_at: credential.kind === 'key' && credential.expiresAt !== null ? iso(credential.expiresAt) : null,
    creator_user_id: accountId,
    rate_limit: { requests: -1, interval: '10s', note: 'Deprecated. Use the RateLimit headers instead.' },
  }
}

/** Rounds sums of binary fractions to a nano-dollar. */
const round = (usd: number): number => Math.round(usd * 1e9) / 1e9

function showCredits(request: GatewayRequest): void {
  const { principal } = request.caller
  if (!hasScope(principal, 'usage:read'))
    refuse('missing_scope', {
      message: 'Credits are visible only to keys with the scope `usage:read`.',
      details: { required_scope: 'usage:read' },
    })
  request.after(request.gateway.usageLookup.credits(principal), ({ granted, used }) =>
    request.json(200, { data: { total_credits: round(granted), total_usage: round(used) } }),
  )
}

function showGeneration(request: GatewayRequest): void {
  const mark = request.incoming.url!.indexOf('?')
  const callId = new URLSearchParams(mark < 0 ? '' : request.incoming.url!.slice(mark + 1)).get('id')
  if (callId === null || callId === '')
    refuse('missing_parameter', { message: 'You must provide an `id` parameter.', param: 'id' })
  const id = parseId(callId.replace(/^gen-/, ''))
  const none = { message: `The generation ${shorten(callId, 64)} doesn’t exist.`, param: 'id' }
  if (id === null) return refuse('not_found', none)
  request.after(request.gateway.usageLookup.call(request.caller.principal, id), (row) =>
    row === null ? refuse('not_found', none) : request.json(200, { data: writeGeneration(row) }),
  )
}

const finishes: Readonly<Record<string, FinishReason>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  max_tokens: 'length',
  tool_use: 'tool_calls',
  refusal: 'content_filter',
  stop: 'stop',
  length: 'length',
  tool_calls: 'tool_calls',
  content_filter: 'content_filter',
  safety: 'content_filter',
  completed: 'stop',
}

function writeGeneration(row: CallRow): object {
  const count = (buckets: readonly bigint[]): number => buckets.reduce((sum, one) => sum + Number(one), 0)
  const prompt = count([row.input_tokens, row.cache_read_tokens, row.cache_write_5m_tokens, row.cache_write_1h_tokens])
  const completion = count([row.output_tokens, row.reasoning_tokens])
  const cost = row.cost_nano === null ? null : toUsd(row.cost_nano)
  const byok = row.billing === 'byok'
  const word = row.finish_reason
  return {
    id: `gen-${row.id}`,
    request_id: row.id,
    upstream_id: null,
    created_at: iso(row.created_at),
    model: row.model,
    provider_name: row.provider,
    api_type: 'completions',
    router: null,
    streamed: row.streamed,
    cancelled: row.status === 'cancelled',
    finish_reason: row.status === 'failed' ? 'error' : word === null ? null : (finishes[word.toLowerCase()] ?? 'stop'),
    native_finish_reason: word,
    total_cost: cost ?? 0,
    usage: cost ?? 0,
    is_byok: byok,
    upstream_inference_cost: byok ? cost : null,
    cache_discount: null,
    latency: row.first_token_ms,
    generation_time: row.first_token_ms === null ? row.duration_ms : row.duration_ms - row.first_token_ms,
    moderation_latency: null,
    tokens_prompt: prompt,
    tokens_completion: completion,
    native_tokens_prompt: prompt,
    native_tokens_completion: completion,
    native_tokens_cached: count([row.cache_read_tokens]),
    native_tokens_reasoning: count([row.reasoning_tokens]),
    num_media_prompt: null,
    num_media_completion: null,
    num_search_results: null,
    app_id: null,
    external_user: null,
    http_referer: null,
    user_agent: null,
    session_id: null,
    service_tier: null,
    origin: row.surface,
  }
}

function showProviders(request: GatewayRequest): void {
  withModels(request, (rows) => {
    const names = new Map(rows.map(({ endpoint }) => [endpoint.slug, endpoint.name]))
    request.json(200, {
      data: [...names].map(([slug, name]) => ({
        name,
        slug,
        privacy_policy_url: null,
        terms_of_service_url: null,
        status_page_url: null,
      })),
    })
  })
}
