import type { MediaKind } from './media.ts'
import type { Pricing, Usd } from './model.ts'

const UNIT = { image: 'image', video: 'video_second', speech: 'character', transcription: 'audio_second' } as const

/** USD per million of what a kind is counted in: pictures, seconds of video or sound, characters. Undefined: not known, or charged by the token. */
export const unitPrice = (kind: MediaKind, pricing: Pricing): Usd | undefined =>
  pricing[UNIT[kind]] ??
  // Older price lists name seconds by `audio_unit`.
  (kind === 'transcription' && pricing.audio_unit === 'second' ? pricing.audio_input : undefined)

/** USD of one picture, second of video or sound, or character. Null: not known, or charged by the token. */
export function priceOfOne(kind: MediaKind, pricing: Pricing | null): number | null {
  const price = pricing === null ? undefined : unitPrice(kind, pricing)
  return price === undefined ? null : Number(price) / 1_000_000
}
