import { fromUsd } from '#kernel/money.ts'

/** A decimal in US dollars as the source wrote it, up to 9 places: a string, so that no price passes through a binary float. */
export type Usd = string

/** Per million units; `request` per request. A bucket that is absent is in no source: it is not free. */
export interface Prices {
  input: Usd
  output: Usd
  reasoning?: Usd
  cache_read?: Usd
  cache_write_5m?: Usd
  cache_write_1h?: Usd
  image?: Usd
  audio_input?: Usd
  audio_output?: Usd
  request?: Usd
}

/** Holds for a whole request whose input, cache reads and writes included, is above the threshold. */
export interface Tier extends Prices {
  above_input_tokens: number
}

export interface Pricing extends Prices {
  /** The unit that `audio_input` and `audio_output` count; present when one of them is. */
  audio_unit?: 'token' | 'second'
  /** In rising order of threshold. */
  tiers?: Tier[]
}

export type Kind = 'text' | 'image' | 'audio' | 'video' | 'embedding'

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
  pricing: Pricing | null
  price_source: string | null
  price_date: string | null
  released_at: string | null
}

/** Dollars per million units as whole nano-dollars per million units (for `request`: nano-dollars per request); never rounds. */
export function nanoPerMillion(price: Usd): bigint {
  if (!/^\d+(\.\d{1,9})?$/.test(price)) throw new RangeError(`not an exact price: ${price}`)
  return fromUsd(price)
}

/** The prices that hold for a request with so many input tokens in all. */
export function pricesFor(pricing: Pricing, inputTokens: number): Prices {
  return pricing.tiers?.findLast((tier) => inputTokens > tier.above_input_tokens) ?? pricing
}
