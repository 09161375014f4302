import { z } from 'zod'

/**
 * Tokens and units of a model call in disjoint buckets: `output_tokens` excludes reasoning, `input_tokens` excludes
 * both caches (contract, part 7).
 */
export interface Usage {
  input_tokens: number
  cache_read_tokens: number
  cache_write_5m_tokens: number
  cache_write_1h_tokens: number
  output_tokens: number
  reasoning_tokens: number
  images: number
  audio_seconds: number
  video_seconds: number
  characters: number
  requests: number
  total_tokens: number
}

const count = z.number().min(0)
export const usageSchema = z
  .object({
    input_tokens: count,
    cache_read_tokens: count,
    cache_write_5m_tokens: count,
    cache_write_1h_tokens: count,
    output_tokens: count,
    reasoning_tokens: count,
    images: count,
    audio_seconds: count,
    video_seconds: count,
    characters: count,
    requests: count,
    total_tokens: count,
  })
  .meta({ id: 'Usage' })

const amount = z.number().describe('US dollars, up to 9 decimals.')
export const callSums = {
  calls: z.number().int(),
  failed_calls: z.number().int(),
  cancelled_calls: z.number().int(),
  unpriced_calls: z.number().int().describe('Calls to models without a price. They aren’t included in `cost_usd`.'),
  usage: usageSchema,
  cost_usd: amount.describe('The total cost of the calls, regardless of who paid.'),
  charged_usd: amount.describe('Amount deducted from credit balances.'),
  refunded_usd: amount.describe('Amount that administrators refunded.'),
  overrun_usd: amount.describe('Cost above the reserved amount. The instance pays it.'),
  average_first_token_ms: z.number().int().nullable(),
  average_duration_ms: z.number().int().nullable(),
}

/** Fills missing buckets with 0 and sums `total_tokens`, for one request. */
export function usageOf(buckets: Partial<Omit<Usage, 'total_tokens'>>): Usage {
  const usage: Usage = {
    input_tokens: 0,
    cache_read_tokens: 0,
    cache_write_5m_tokens: 0,
    cache_write_1h_tokens: 0,
    output_tokens: 0,
    reasoning_tokens: 0,
    images: 0,
    audio_seconds: 0,
    video_seconds: 0,
    characters: 0,
    requests: 1,
    ...buckets,
    total_tokens: 0,
  }
  usage.total_tokens =
    usage.input_tokens +
    usage.cache_read_tokens +
    usage.cache_write_5m_tokens +
    usage.cache_write_1h_tokens +
    usage.output_tokens +
    usage.reasoning_tokens
  return usage
}

export type CostSource = 'reported' | 'computed' | 'estimated' | 'free'
/** Who pays the provider: the caller's own key, the caller's credits, or no one. */
export type Billing = 'byok' | 'credits' | 'free'

const EMPTY: Usage = usageOf({ requests: 0 })
export const usageFields = Object.keys(EMPTY) as (keyof Usage)[]

export const keptUsage = (usage: Partial<Usage> | null): Usage | null => usage && { ...EMPTY, ...usage }

export function addUsage(one: Usage | null, other: Usage | null): Usage | null {
  if (one === null || other === null) return keptUsage(one ?? other)
  const sum = { ...EMPTY }
  for (const bucket of usageFields) sum[bucket] = (one[bucket] ?? 0) + (other[bucket] ?? 0)
  return sum
}

export const sumUsage = (all: Iterable<Usage | null>): Usage => [...all].reduce<Usage | null>(addUsage, null) ?? EMPTY
