import type { Usd } from '../../catalogue/model.ts'
import type { Offer } from '../../model/offer.ts'

/** Exact decimals; an unknown price is `-1`, OpenRouter's value for a varying price. */
export function perToken(price: Usd | undefined): string {
  if (price === undefined) return '-1'
  const [whole = '0', fraction = ''] = price.split('.')
  const digits = whole.padStart(7, '0') + fraction
  const point = digits.length - fraction.length - 6
  return `${digits.slice(0, point)}.${digits.slice(point)}`.replace(/^0+(?=\d)/, '').replace(/\.?0+$/, '')
}

export const writePricing = ({ pricing }: Pick<Offer, 'pricing'>): object => ({
  prompt: perToken(pricing?.input),
  completion: perToken(pricing?.output),
  ...(pricing?.request !== undefined && { request: pricing.request }),
  ...(pricing?.image !== undefined && { image: perToken(pricing.image) }),
  ...(pricing?.reasoning !== undefined && { internal_reasoning: perToken(pricing.reasoning) }),
  ...(pricing?.cache_read !== undefined && { input_cache_read: perToken(pricing.cache_read) }),
  ...(pricing?.cache_write_5m !== undefined && { input_cache_write: perToken(pricing.cache_write_5m) }),
})
