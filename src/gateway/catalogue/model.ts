import { fromUsd } from '#core/money.ts'
import type { MediaAbilities } from './media.ts'

/** Up to 9 decimal places; a string, so that no price passes through a binary float. */
export type Usd = string

/** Per million units; `request` per request. An absent bucket is unknown, not free. */
export interface Prices {
  input: Usd
  output: Usd
  reasoning?: Usd
  cache_read?: Usd
  cache_write_5m?: Usd
  cache_write_1h?: Usd
  image?: Usd
  pixel?: Usd
  /** An image token, input or output; absent: as text. */
  image_input?: Usd
  image_output?: Usd
  audio_input?: Usd
  audio_output?: Usd
  audio_second?: Usd
  video_second?: Usd
  character?: Usd
  request?: Usd
}

/** Applies to a whole request whose input, including cache reads and writes, exceeds the threshold. */
export interface Tier extends Prices {
  above_input_tokens: number
}

/** The fields of a media request that select a price: all given ones must match. */
export interface When {
  /** `1024x1024`. */
  size?: string
  quality?: string
  /** `720p`, `1080p`, `4k`. */
  resolution?: string
  audio?: boolean
}

/** Prices that replace the base prices for matching requests; absent ones keep the base price. */
export interface Variant extends Partial<Prices> {
  when: When
}

export interface Pricing extends Prices {
  /** The unit of `audio_input` and `audio_output`; present if one of them is. */
  audio_unit?: 'token' | 'second'
  tiers?: Tier[]
  /** The first match applies. */
  variants?: Variant[]
}

/** `audio` models have conversations; `speech` and `transcription` only convert. */
export type Kind = 'text' | 'image' | 'audio' | 'video' | 'embedding' | 'speech' | 'transcription'

export interface CatalogueModel {
  slug: string
  provider: string
  upstream_model: string
  name: string
  kind: Kind
  context_length: number | null
  max_output_tokens: number | null
  modalities: { input: string[]; output: string[] }
  capabilities: string[]
  capability_index: number | null
  capability_index_source: string | null
  media?: MediaAbilities
  pricing: Pricing | null
  price_source: string | null
  price_date: string | null
  released_at: string | null
}

/** Never rounds. */
export function nanoPerMillion(price: Usd): bigint {
  if (!/^\d+(\.\d{1,9})?$/.test(price)) throw new RangeError(`not an exact price: ${price}`)
  return fromUsd(price)
}

export function pricesFor(pricing: Pricing, inputTokens: number): Prices {
  return pricing.tiers?.findLast((tier) => inputTokens > tier.above_input_tokens) ?? pricing
}
