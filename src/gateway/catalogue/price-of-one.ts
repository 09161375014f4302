import type { MediaKind } from './media.ts'
import type { Pricing, Usd } from './model.ts'

const UNIT = { image: 'image', video: 'video_second', speech: 'character', transcription: 'audio_second' } as const

/** Undefined: unknown, or charged by token. */
export const unitPrice = (kind: MediaKind, pricing: Pricing): Usd | undefined =>
  pricing[UNIT[kind]] ??
  // Older price lists mark seconds with `audio_unit`.
  (kind === 'transcription' && pricing.audio_unit === 'second' ? pricing.audio_input : undefined)

const PIXELS = 1024 * 1024

/**
 * The price of one image (1024 × 1024), second, or character; with only variants, the cheapest. Null: unknown, or
 * charged by token.
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
