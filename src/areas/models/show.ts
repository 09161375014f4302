import type { z } from 'zod'
import type { Row } from '#areas/ai-gateway/service.ts'
import type { Prices, Pricing } from '#gateway/catalogue/model.ts'
import type { Model, Pricing as PricingSchema } from './contract.ts'

export type ModelRow = Omit<Row, 'source' | 'endpoint'>
export type ShownModel = z.output<typeof Model>

export const showModel = (row: ModelRow, provider: string, status: ShownModel['status']): ShownModel => ({
  id: row.id,
  slug: row.slug,
  name: row.name,
  provider,
  created_at: row.createdAt,
  context_length: row.contextLength,
  max_output_tokens: row.maxOutputTokens,
  modalities: { input: [...row.modalities.input], output: [...row.modalities.output] },
  capabilities: [...row.capabilities],
  capability_index: row.capabilityIndex,
  capability_index_source: row.capabilityIndexSource,
  pricing: row.pricing === null ? null : showPricing(row.pricing),
  price_source: row.priceSource,
  price_date: row.priceDate,
  status,
})

const usd = (price: string | undefined): number | null => (price === undefined ? null : Number(price))

const showPrices = (prices: Prices) => ({
  input: Number(prices.input),
  output: Number(prices.output),
  reasoning: usd(prices.reasoning),
  cache_read: usd(prices.cache_read),
  cache_write_5m: usd(prices.cache_write_5m),
  cache_write_1h: usd(prices.cache_write_1h),
  image: usd(prices.image),
  audio_input: usd(prices.audio_input),
  audio_output: usd(prices.audio_output),
  request: usd(prices.request),
})

const showPricing = (pricing: Pricing): z.output<typeof PricingSchema> => ({
  ...showPrices(pricing),
  audio_unit: pricing.audio_unit ?? null,
  tiers: (pricing.tiers ?? []).map((tier) => ({ above_input_tokens: tier.above_input_tokens, ...showPrices(tier) })),
})
