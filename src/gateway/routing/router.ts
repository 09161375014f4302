import type { Refusal } from '#core/errors.ts'
import type { Offer } from '../model/offer.ts'
import type { HealthView } from './health.ts'
import { type Excluded, whyNot } from './filter.ts'
import { isAggregator } from '../providers/supports.ts'
import { rankBy } from './order.ts'
import type { RoutingConstraints } from './constraints.ts'

export interface Candidate {
  offer: Offer
  /** The model that was asked for, as the caller named it. */
  asked: string
  /** The suffix behind the upstream's name: a variant that only the provider itself can choose. */
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
export interface RequestedModel {
  model: string
  offers: readonly Offer[]
  /** Why it is not known who serves it. */
  unknown?: Refusal
  /** Constraints that this model's own name asks for, above the request's. */
  more?: Partial<RoutingConstraints>
  variant?: string
}

/** Offers → the order in which they are asked. Pure: the health of providers and the seed come in. */
export function route(
  offers: readonly Offer[],
  constraints: RoutingConstraints,
  health: HealthView,
  asked = '',
  variant = '',
): Route {
  const excluded: Route['excluded'] = []
  const left: Offer[] = []
  for (const offer of offers) {
    const reason = whyNot(offer, constraints, offers)
    if (reason) excluded.push({ offer, reason })
    else left.push(offer)
  }
  const candidates = rankBy(left, constraints, health).map(({ offer, weight, reason }) => ({
    offer,
    asked,
    variant: isAggregator(offer) ? variant : '',
    weight,
    reason,
  }))
  if (constraints.allowFallbacks === false && !constraints.order?.length)
    for (const { offer } of candidates.splice(1)) excluded.push({ offer, reason: 'fallback' })
  return { candidates, excluded }
}

/** The models of a request one after the other; `together`: all that serve any of them in one order. */
export function routeModels(
  models: readonly RequestedModel[],
  constraints: RoutingConstraints,
  health: HealthView,
  together = false,
): Route {
  const [first] = models
  if (models.length === 1 && first !== undefined)
    return route(first.offers, { ...constraints, ...first.more }, health, first.model, first.variant)
  const firstOfAll = together && !constraints.order?.length
  const routes = models.map(({ offers, model, more, variant }) =>
    route(offers, { ...constraints, ...more, ...(firstOfAll && { allowFallbacks: true }) }, health, model, variant),
  )
  const all = routes.flatMap(({ candidates }) => candidates)
  const known = new Set<Offer>()
  const once = all.filter(({ offer }) => !known.has(offer) && known.add(offer))
  const excluded = routes.flatMap((one) => one.excluded).filter(({ offer }) => !known.has(offer))
  if (!together) return { candidates: once, excluded }
  const place = new Map(
    route(
      once.map(({ offer }) => offer),
      { ...constraints, allowFallbacks: true },
      health,
    ).candidates.map(({ offer }, index) => [offer, index]),
  )
  const candidates = once.toSorted((a, b) => place.get(a.offer)! - place.get(b.offer)!)
  if (constraints.allowFallbacks === false && firstOfAll)
    for (const { offer } of candidates.splice(1)) excluded.push({ offer, reason: 'fallback' })
  return { candidates, excluded }
}

export const newSeed = (): number => (Math.random() * 2 ** 32) >>> 0
