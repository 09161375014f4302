import type { Billing } from '#kernel/usage.ts'
import type { Offer } from './directory.ts'
import type { Lately } from './health.ts'
import { type Excluded, type MaxPrice, relays, whyNot } from './router-filter.ts'
import { type Sort, rankBy } from './router-order.ts'

export { isNamed, relays } from './router-filter.ts'
export type { Excluded, MaxPrice } from './router-filter.ts'
export type { Sort } from './router-order.ts'

/** A bound that a percentile of the last minutes' calls must keep to; a bare number bounds the median. */
export type Cutoffs = Readonly<Partial<Record<'p50' | 'p75' | 'p90' | 'p99', number>>>

/** What a caller wants of a route. A live call and `routing-preview` give the same and get the same. */
export interface Wish {
  /** The draw's; the same seed draws the same order. */
  seed: number
  /** Whether an offer can be asked at all, in the client's shape or in a translation of it; absent: all can. */
  serves?: (offer: Offer) => boolean
  /** Capabilities that the model must have, where it is known which it has. */
  needs?: readonly string[]
  inputTokens?: number
  maxTokens?: number
  /** Names of providers: slugs, or those of presets. */
  only?: readonly string[]
  ignore?: readonly string[]
  order?: readonly string[]
  /** False: those alone are asked that `order` names; without one the first choice. */
  allowFallbacks?: boolean
  /** Parameters of the request, in OpenRouter's names, each of which must mean something to the provider. */
  parameters?: readonly string[]
  dataCollection?: 'allow' | 'deny'
  zeroRetention?: boolean
  quantizations?: readonly string[]
  maxPrice?: MaxPrice
  /** Only what costs nothing. */
  free?: boolean
  /** Something that only a provider which relays can do, as the caller wrote it. */
  relayed?: string
  /** Only models whose output may be trained on. */
  distillable?: boolean
  sort?: Sort
  minThroughput?: Cutoffs
  /** Seconds. */
  maxLatency?: Cutoffs
  /** The endpoint that holds this conversation's prompt in its cache. */
  warm?: string
  /** Whether a call is paid from a balance or counts under a cap, which takes a price. */
  guards?: (billing: Billing) => boolean
}

export interface Candidate {
  offer: Offer
  /** The model that was asked for, as the caller named it. */
  asked: string
  /** What is put behind the upstream's name: a variant that only the provider itself can choose. */
  variant: string
  /** Its share of the calls of its rank, 0–1. */
  weight: number
  /** Why it stands where it stands, for people. */
  reason: string
}

export interface Route {
  /** In the order in which they are tried. */
  candidates: Candidate[]
  excluded: { offer: Offer; reason: Excluded }[]
}

/** A model that was asked for, and who serves it. */
export interface Asked {
  model: string
  offers: readonly Offer[]
  /** What this model's own name asks for, above what the request does. */
  more?: Partial<Wish>
  variant?: string
}

/** Offers → the order in which they are asked. Pure: what happened lately and the seed come in. */
export function route(offers: readonly Offer[], wish: Wish, lately: Lately, asked = '', variant = ''): Route {
  const excluded: Route['excluded'] = []
  const left: Offer[] = []
  for (const offer of offers) {
    const reason = whyNot(offer, wish, offers)
    if (reason) excluded.push({ offer, reason })
    else left.push(offer)
  }
  const candidates = rankBy(left, wish, lately).map(({ offer, weight, reason }) => ({
    offer,
    asked,
    variant: relays(offer) ? variant : '',
    weight,
    reason,
  }))
  if (wish.allowFallbacks === false && !wish.order?.length)
    for (const { offer } of candidates.splice(1)) excluded.push({ offer, reason: 'fallback' })
  return { candidates, excluded }
}

/** The models of a request one after the other; `together`: all that serve any of them in one order. */
export function routeModels(models: readonly Asked[], wish: Wish, lately: Lately, together = false): Route {
  const [first] = models
  if (models.length === 1 && first !== undefined)
    return route(first.offers, { ...wish, ...first.more }, lately, first.model, first.variant)
  const firstOfAll = together && !wish.order?.length
  const routes = models.map(({ offers, model, more, variant }) =>
    route(offers, { ...wish, ...more, ...(firstOfAll && { allowFallbacks: true }) }, lately, model, variant),
  )
  const all = routes.flatMap(({ candidates }) => candidates)
  const known = new Set<Offer>()
  const once = all.filter(({ offer }) => !known.has(offer) && known.add(offer))
  const excluded = routes.flatMap((one) => one.excluded).filter(({ offer }) => !known.has(offer))
  if (!together) return { candidates: once, excluded }
  const place = new Map(
    route(
      once.map(({ offer }) => offer),
      { ...wish, allowFallbacks: true },
      lately,
    ).candidates.map(({ offer }, index) => [offer, index]),
  )
  const candidates = once.toSorted((a, b) => place.get(a.offer)! - place.get(b.offer)!)
  if (wish.allowFallbacks === false && firstOfAll)
    for (const { offer } of candidates.splice(1)) excluded.push({ offer, reason: 'fallback' })
  return { candidates, excluded }
}

export const newSeed = (): number => (Math.random() * 2 ** 32) >>> 0
