import type { z } from 'zod'
import type { Row } from '#modules/ai-gateway/service.ts'
import type { Prices, Pricing } from '#gateway/catalogue/model.ts'
import type { Model, Pricing as PricingSchema } from './contract.ts'

export type ModelRow = Omit<Row, 'source' | 'endpoint'>
export type ShownModel = z.output<typeof Model>

export const showModel = (
  row: ModelRow,
  provider: string,
  status: ShownModel['status'],
  statusReason: string | null = null,
): ShownModel => ({
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
  status_reason: statusReason,
})

const usd = (price: string | undefined): number | null => (price === undefined ? null : Number(price))

const showPrices = (prices: Partial<Prices>) => ({
  reasoning: usd(prices.reasoning),
  cache_read: usd(prices.cache_read),
  cache_write_5m: usd(prices.cache_write_5m),
  cache_write_1h: usd(prices.cache_write_1h),
  image: usd(prices.image),
  pixel: usd(prices.pixel),
  image_input: usd(prices.image_input),
  image_output: usd(prices.image_output),
  audio_input: usd(prices.audio_input),
  audio_output: usd(prices.audio_output),
  audio_second: usd(prices.audio_second),
  video_second: usd(prices.video_second),
  character: usd(prices.character),
  request: usd(prices.request),
})

const tokenPrices = ({ input, output }: Prices) => ({ input: Number(input), output: Number(output) })

export const showPricing = (pricing: Pricing): z.output<typeof PricingSchema> => ({
  ...tokenPrices(pricing),
  ...showPrices(pricing),
  audio_unit: pricing.audio_unit ?? null,
  tiers: (pricing.tiers ?? []).map((tier) => ({
    above_input_tokens: tier.above_input_tokens,
    ...tokenPrices(tier),
    ...showPrices(tier),
  })),
  variants: (pricing.variants ?? []).map(({ when, ...over }) => ({
    when: {
      size: when.size ?? null,
      quality: when.quality ?? null,
      resolution: when.resolution ?? null,
      audio: when.audio ?? null,
    },
    input: usd(over.input),
    output: usd(over.output),
    ...showPrices(over),
  })),
})
