import { fromUsd } from '#core/money.ts'
import type { MediaAbilities } from './media.ts'

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
  /** A picture made. */
  image?: Usd
  /** A pixel of a picture made. */
  pixel?: Usd
  /** A token of a picture, read or made; absent: as text. */
  image_input?: Usd
  image_output?: Usd
  audio_input?: Usd
  audio_output?: Usd
  /** A second of sound, heard or made. */
  audio_second?: Usd
  /** A second of video made. */
  video_second?: Usd
  /** A Unicode code point of text that is spoken. */
  character?: Usd
  request?: Usd
}

/** Holds for a whole request whose input, cache reads and writes included, is above the threshold. */
export interface Tier extends Prices {
  above_input_tokens: number
}

/** The fields of a request for media that choose a price: all that are named must match. */
export interface When {
  /** `1024x1024`. */
  size?: string
  quality?: string
  /** `720p`, `1080p`, `4k`. */
  resolution?: string
  /** Whether a video has sound. */
  audio?: boolean
}

/** Prices that hold instead, where the request is such; what it does not name is as above it. */
export interface Variant extends Partial<Prices> {
  when: When
}

export interface Pricing extends Prices {
  /** The unit that `audio_input` and `audio_output` count; present when one of them is. */
  audio_unit?: 'token' | 'second'
  /** The tiers, in rising order of threshold. */
  tiers?: Tier[]
  /** The first that matches holds. */
  variants?: Variant[]
}

/** `audio`: a model that hears or speaks in a conversation; `speech` and `transcription` only turn text to sound, or back. */
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
  /** The media abilities, for kinds that media routes serve; absent: in no source. */
  media?: MediaAbilities
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
