import type { Refusal } from '#core/errors.ts'
import type { Offer } from '../model/offer.ts'
import type { HealthView } from './health.ts'
import { type Exclusion, whyNot } from './filter.ts'
import { isAggregator } from '../providers/supports.ts'
import { rankBy } from './order.ts'
import type { RoutingConstraints } from './constraints.ts'

export interface Candidate {
  offer: Offer
  asked: string
  /** The suffix after the upstream's name: a variant that only the provider itself can choose. */
  variant: string
  /** Its share of the calls of its rank, 0–1. */
  weight: number
  reason: string
}

export interface Route {
  candidates: Candidate[]
  excluded: { offer: Offer; reason: Exclusion }[]
}

export interface RequestedModel {
  model: string
  offers: readonly Offer[]
  unknown?: Refusal
  more?: Partial<RoutingConstraints>
  variant?: string
}

/** Pure: the health of providers and the seed are arguments. */
export function route(
  offers: readonly Offer[],
  constraints: RoutingConstraints,
  health: HealthView,
  requestedName = '',
  variant = '',
): Route {
  const exclusions: Route['excluded'] = []
  const eligible: Offer[] = []
  for (const offer of offers) {
    const reason = whyNot(offer, constraints, offers)
    if (reason) exclusions.push({ offer, reason })
    else eligible.push(offer)
  }
  const candidates = rankBy(eligible, constraints, health).map(({ offer, weight, reason }) => ({
    offer,
    asked: requestedName,
    variant: isAggregator(offer) ? variant : '',
    weight,
    reason,
  }))
  if (constraints.allowFallbacks === false && !constraints.order?.length)
    for (const { offer } of candidates.splice(1)) exclusions.push({ offer, reason: 'fallback' })
  return { candidates, excluded: exclusions }
}

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
  const candidateOffers = new Set<Offer>()
  const once = all.filter(({ offer }) => !candidateOffers.has(offer) && candidateOffers.add(offer))
  const exclusions = routes.flatMap((one) => one.excluded).filter(({ offer }) => !candidateOffers.has(offer))
  if (!together) return { candidates: once, excluded: exclusions }
  const place = new Map(
    route(
      once.map(({ offer }) => offer),
      { ...constraints, allowFallbacks: true },
      health,
    ).candidates.map(({ offer }, index) => [offer, index]),
  )
  const candidates = once.toSorted((a, b) => place.get(a.offer)! - place.get(b.offer)!)
  if (constraints.allowFallbacks === false && firstOfAll)
    for (const { offer } of candidates.splice(1)) exclusions.push({ offer, reason: 'fallback' })
  return { candidates, excluded: exclusions }
}

export const newSeed = (): number => (Math.random() * 2 ** 32) >>> 0
