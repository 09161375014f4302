import { priceSaid } from './amounts.ts'

type Row = Record<string, unknown>

/** Price units and the amounts they are shown for. Prices are USD per million units, or per request. */
const units: readonly (readonly [field: string, words: string, of: number])[] = [
  ['input', 'in', 1_000_000],
  ['output', 'out', 1_000_000],
  ['reasoning', 'reasoning', 1_000_000],
  ['cache_read', 'cached', 1_000_000],
  ['cache_write_5m', 'cache write', 1_000_000],
  ['cache_write_1h', 'cache write 1 h', 1_000_000],
  ['character', 'characters', 1_000_000],
  ['image', 'per image', 1],
  ['pixel', 'per megapixel', 1_000_000],
  ['audio_second', 'per minute of audio', 60],
  ['video_second', 'per second of video', 1],
]

/** Renders `$2.50 in · $10 out · $0.25 cached, per million tokens`; null without prices. */
export function pricingSaid(pricing: Row): string | null {
  const of = (field: string): number | null => (typeof pricing[field] === 'number' ? pricing[field] : null)
  const formatPrices = (among: typeof units): string[] =>
    among.flatMap(([field, words, many]) => {
      const price = of(field)
      const same = (field === 'reasoning' && price === of('output')) || price === null
      // Zero prices are hidden next to other units.
      return same || (price === 0 && !['input', 'output'].includes(field))
        ? []
        : [`${priceSaid(rounded((price * many) / 1_000_000))} ${words}`]
    })
  const media = formatPrices(units.slice(7))
  const unpriced = media.length > 0 && !of('input') && !of('output')
  const tokens = unpriced ? [] : formatPrices(units.slice(0, 6))
  const characters = formatPrices(units.slice(6, 7))
  const request = of('request')
  const parts = [
    ...(tokens.length > 0 ? [`${tokens.join(' · ')}, per million tokens`] : []),
    ...(characters.length > 0 ? [`${characters.join('')}, per million`] : []),
    ...media,
    ...(request ? [`${priceSaid(request)} per request`] : []),
  ]
  if (parts.length === 0) return null
  const tiers = Array.isArray(pricing.tiers) && pricing.tiers.length > 0 ? '; more for long input' : ''
  const variants =
    Array.isArray(pricing.variants) && pricing.variants.length > 0 ? '; other prices by size and quality' : ''
  return `${parts.join(' · ')}${tiers}${variants}`
}

const rounded = (usd: number): number => Math.round(usd * 1e9) / 1e9
