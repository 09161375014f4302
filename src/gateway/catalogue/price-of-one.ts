import type { MediaKind } from './media.ts'
import type { Pricing, Usd } from './model.ts'

const UNIT = { image: 'image', video: 'video_second', speech: 'character', transcription: 'audio_second' } as const

/** USD per million of what a kind is counted in: pictures, seconds of video or sound, characters. Undefined: not known, or charged by the token. */
export const unitPrice = (kind: MediaKind, pricing: Pricing): Usd | undefined =>
  pricing[UNIT[kind]] ??
  // Older price lists name seconds by `audio_unit`.
  (kind === 'transcription' && pricing.audio_unit === 'second' ? pricing.audio_input : undefined)

/** The size that a picture is priced at where its price hangs on its pixels. */
const PIXELS = 1024 * 1024

/**
 * USD of one picture (of 1024 × 1024, where it hangs on the size), second of video or sound, or character; of variants alone
 * the cheapest. Null: not known, or charged by the token.
 */
export function priceOfOne(kind: MediaKind, pricing: Pricing | null): number | null {
  if (pricing === null) return null
  const price = unitPrice(kind, pricing)
  if (price !== undefined) return Number(price) / MILLION
  if (kind === 'image' && pricing.pixel !== undefined) return (Number(pricing.pixel) * PIXELS) / MILLION
  const variants = (pricing.variants ?? []).flatMap((variant) => variant[UNIT[kind]] ?? [])
  return variants.length === 0 ? null : Math.min(...variants.map(Number)) / MILLION
}

const MILLION = 1_000_000
