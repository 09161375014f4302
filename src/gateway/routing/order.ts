import { unitPrice } from '../catalogue/price-of-one.ts'
import type { Offer } from '../model/offer.ts'
import type { Aside, OfferStats, HealthView } from './health.ts'
import { isNamed } from './filter.ts'
import { faultWords } from './explain.ts'
import type { Cutoffs, Sort, RoutingConstraints } from './constraints.ts'

export interface RankedOffer {
  offer: Offer
  weight: number
  reason: string
}

/**
 * Available endpoints without recent failures first, then the caller's order, the caller's own before credits,
 * endpoints that cache the prompt, then the sort figure, or else priority and a weighted draw.
 */
export function rankBy(offers: readonly Offer[], constraints: RoutingConstraints, health: HealthView): RankedOffer[] {
  const shares = weigh(offers)
  const rows = offers.map((offer, index) => {
    const failing = health.failing(offer)
    const aside = health.aside(offer)
    const share = shares[index]!
    const stats = constraints.sort || constraints.minThroughput || constraints.maxLatency ? health.stats(offer) : null
    return {
      offer,
      failing,
      aside,
      slow: isSlow(stats, constraints),
      place: placeIn(offer, constraints.order),
      rank: rankOf(offer),
      cold: Number(constraints.cacheHolder !== offer.endpoint.id),
      figure: constraints.sort ? figureOf(constraints.sort, offer, stats) : offer.endpoint.priority,
      // Exponential keys: the smallest is drawn first, in proportion to the weights (Efraimidis and Spirakis, 2006).
      key:
        share === 0
          ? Infinity
          : -Math.log(draw(constraints.seed, `${offer.endpoint.id} ${offer.upstreamModel}`)) / share,
      weight: share,
    }
  })
  const hasOrder = (constraints.order?.length ?? 0) > 0
  rows.sort(
    (a, b) =>
      Number(isAway(a.offer)) - Number(isAway(b.offer)) ||
      Number(a.failing !== null) - Number(b.failing !== null) ||
      Number(a.aside !== null) - Number(b.aside !== null) ||
      compare(a.place, b.place) ||
      a.rank - b.rank ||
      Number(a.slow) - Number(b.slow) ||
      (hasOrder ? 0 : a.cold - b.cold) ||
      compare(a.figure, b.figure) ||
      compare(a.key, b.key),
  )
  return rows.map(({ offer, failing, aside, place, cold, slow, weight }) => ({
    offer,
    weight,
    reason:
      whyLast(offer, failing, aside) ??
      (place < Infinity
        ? 'listed in `order`'
        : constraints.cacheHolder !== undefined && cold === 0 && !hasOrder
          ? 'has this conversation in its prompt cache'
          : reasonOf(offer, constraints, slow)),
  }))
}

function whyLast(offer: Offer, failing: string | null, aside: Aside | null): string | null {
  if (isAway(offer)) return 'its computer isn’t connected, so it’s tried last'
  if (failing !== null) return `it’s failing, so it’s tried last: ${failing}`
  return aside === null ? null : `it recently ${faultWords[aside.kind]}, so it’s tried last`
}

const isAway = ({ endpoint }: Offer): boolean => endpoint.away === true

const compare = (a: number, b: number): number => (a === b ? 0 : a < b ? -1 : 1)

const rankOf = ({ endpoint }: Offer): number => (endpoint.billing === 'credits' ? 1 : 0)

function placeIn({ endpoint }: Offer, order: RoutingConstraints['order']): number {
  const place = order?.findIndex((name) => isNamed(endpoint, name)) ?? -1
  return place < 0 ? Infinity : place
}

/** Lower is better; offers without measurements come last. */
function figureOf(sort: Sort, offer: Offer, stats: OfferStats | null): number {
  switch (sort) {
    case 'price':
      return offer.endpoint.billing === 'free' ? 0 : (priceOf(offer) ?? Infinity)
    case 'throughput':
      return -(stats?.throughput(0.5) ?? 0)
    case 'latency':
      return stats?.latency(0.5) ?? Infinity
    case 'exacto':
      // Rounded to tenths: one failure in a hundred calls counts like none.
      return Math.round((stats?.failing ?? 0) * 10)
  }
}

const PERCENTILES = { p50: 0.5, p75: 0.75, p90: 0.9, p99: 0.99 } as const
const bounds = (cutoffs: Cutoffs | undefined): [number, number][] =>
  Object.entries(cutoffs ?? {}).map(([name, limit]) => [PERCENTILES[name as keyof Cutoffs], limit])

function isSlow(stats: OfferStats | null, { minThroughput, maxLatency }: RoutingConstraints): boolean {
  if (stats === null) return false
  return (
    bounds(minThroughput).some(([percentile, least]) => (stats.throughput(percentile) ?? Infinity) < least) ||
    bounds(maxLatency).some(([percentile, most]) => (stats.latency(percentile) ?? 0) > most * 1000)
  )
}

function reasonOf({ endpoint }: Offer, { sort }: RoutingConstraints, slow: boolean): string {
  const whose = endpoint.billing === 'byok' ? 'your own endpoint' : endpoint.billing === 'free' ? 'free' : 'on credits'
  if (slow) return `${whose}, after the providers that were fast enough in the last 5 minutes`
  if (sort === 'exacto') return `${whose}, by failure rate`
  if (sort) return `${whose}, by ${sort}`
  return endpoint.billing === 'credits' ? 'weighted by price' : whose
}

/** The endpoint's weight by 1/price², within its rank and priority. */
function weigh(offers: readonly Offer[]): number[] {
  const prices = offers.map(priceOf)
  const dearest = Math.max(...prices.filter((price) => price !== null), 1e-3)
  const raw = offers.map(
    ({ endpoint }, index) => Math.max(0, endpoint.weight) / Math.max(prices[index] ?? dearest, 1e-3) ** 2,
  )
  const groupOf = (offer: Offer): string => `${rankOf(offer)} ${offer.endpoint.priority}`
  const sums = new Map<string, number>()
  offers.forEach((offer, index) => sums.set(groupOf(offer), (sums.get(groupOf(offer)) ?? 0) + raw[index]!))
  return offers.map((offer, index) => {
    const sum = sums.get(groupOf(offer))!
    return sum === 0 ? 0 : raw[index]! / sum
  })
}

/** USD for a million tokens in plus a million out, or a million media units. Null: unknown. */
export function priceOf({ pricing, media }: Offer): number | null {
  if (pricing === null) return null
  const unit = media && unitPrice(media.kind, pricing)
  return unit === undefined ? Number(pricing.input) + Number(pricing.output) : Number(unit)
}

/** In (0, 1], from seed and text only (FNV-1a, then the finalizer of MurmurHash3). */
function draw(seed: number, words: string): number {
  let hash = 0x811c9dc5 ^ seed
  for (let i = 0; i < words.length; i++) hash = Math.imul(hash ^ words.charCodeAt(i), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (((hash ^ (hash >>> 16)) >>> 0) + 1) / 2 ** 32
}
