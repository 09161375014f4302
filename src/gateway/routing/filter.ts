import { type ModelRule, ruleAgainst } from '#core/principal.ts'
import type { Offer, ProviderEndpoint } from '../model/offer.ts'
import { isAggregator } from '../providers/supports.ts'
import { supportsParameter } from '../providers/parameters.ts'
import type { MaxPrice, RoutingConstraints } from './constraints.ts'

export type Exclusion =
  | 'shape'
  | 'only'
  | 'ignore'
  | 'fallback'
  | 'capability'
  | 'context'
  | 'max_tokens'
  | 'parameters'
  | 'data_collection'
  | 'zero_retention'
  | 'quantization'
  | 'price'
  | 'unpriced'
  | 'unaffordable'
  | 'not_free'
  | 'relayed'
  | 'distillable'
  | 'rule'

/** Explicit constraints always exclude an offer; possibly outdated data only excludes it while others remain. */
export function whyNot(offer: Offer, constraints: RoutingConstraints, all: readonly Offer[]): Exclusion | null {
  return constraintAgainst(offer, constraints, all) ?? (all.length === 1 ? null : dataAgainst(offer, constraints))
}

function constraintAgainst(offer: Offer, constraints: RoutingConstraints, all: readonly Offer[]): Exclusion | null {
  if (brokenRule(offer, constraints) !== undefined) return 'rule'
  if (constraints.serves && !constraints.serves(offer)) return 'shape'
  if (constraints.only?.length && !isMeant(offer, constraints.only, all)) return 'only'
  if (constraints.ignore?.some((name) => isNamed(offer.endpoint, name))) return 'ignore'
  if (constraints.allowFallbacks === false && constraints.order?.length && !isMeant(offer, constraints.order, all))
    return 'fallback'
  if (constraints.relayed !== undefined && !isAggregator(offer)) return 'relayed'
  if (constraints.distillable && !isAggregator(offer)) return 'distillable'
  if (constraints.free && !isFree(offer)) return 'not_free'
  const policy = isAggregator(offer) ? null : policyAgainst(offer, constraints)
  if (policy) return policy
  if (constraints.maxPrice && !isWithin(offer, constraints.maxPrice)) return 'price'
  const lacking = constraints.parameters?.some((parameter) => !supportsParameter(offer, parameter))
  return lacking && !isAggregator(offer) ? 'parameters' : null
}

function dataAgainst(offer: Offer, constraints: RoutingConstraints): Exclusion | null {
  if (offer.pricing === null && constraints.guards?.(offer.endpoint.billing)) return 'unpriced'
  if (offer.capabilities.length > 0 && constraints.needs?.some((need) => !offer.capabilities.includes(need)))
    return 'capability'
  if (offer.contextLength !== null && (constraints.inputTokens ?? 0) > offer.contextLength) return 'context'
  if (offer.maxOutputTokens !== null && (constraints.maxTokens ?? 0) > offer.maxOutputTokens) return 'max_tokens'
  return null
}

export const brokenRule = (
  { slug, endpoint }: Offer,
  { rules }: Pick<RoutingConstraints, 'rules'>,
): ModelRule | undefined =>
  rules && ruleAgainst(rules, { slug, provider: endpoint.slug, workspaceId: endpoint.workspaceId })

/** `anthropic` is any endpoint of that preset, `google-vertex/us-east5` one of `google-vertex`. */
export function isNamed({ slug, preset }: ProviderEndpoint, name: string): boolean {
  const lowerName = name.toLowerCase()
  return slug === lowerName || preset === lowerName || lowerName.startsWith(`${preset ?? slug}/`)
}

/** Names that match none of these offers refer to the providers behind an aggregator. */
function isMeant(offer: Offer, names: readonly string[], all: readonly Offer[]): boolean {
  if (names.some((name) => isNamed(offer.endpoint, name))) return true
  return isAggregator(offer) && !names.some((name) => all.some(({ endpoint }) => isNamed(endpoint, name)))
}

function policyAgainst({ endpoint, quantization }: Offer, constraints: RoutingConstraints): Exclusion | null {
  const { keeps, trains } = endpoint.dataPolicy ?? {}
  if (constraints.dataCollection === 'deny' && trains !== false) return 'data_collection'
  if (constraints.zeroRetention && keeps !== false) return 'zero_retention'
  if (constraints.quantizations?.length && !constraints.quantizations.includes(quantization ?? 'unknown'))
    return 'quantization'
  return null
}

export const isFree = ({ endpoint, pricing }: Offer): boolean =>
  endpoint.billing === 'free' || (pricing !== null && [pricing, ...(pricing.variants ?? [])].every(isNothing))

/** Prices are decimal strings; other values beside them aren't prices. */
const isNothing = (prices: object): boolean =>
  Object.entries(prices).every(
    ([name, price]) => name === 'audio_unit' || typeof price !== 'string' || Number(price) === 0,
  )

/** An unknown price satisfies no limit. */
function isWithin({ endpoint, pricing }: Offer, most: MaxPrice): boolean {
  if (endpoint.billing === 'free') return true
  if (pricing === null) return false
  const fits = (price: string | undefined, limit: number | undefined): boolean =>
    limit === undefined || Number(price ?? 0) <= limit
  return (
    fits(pricing.input, most.prompt) &&
    fits(pricing.output, most.completion) &&
    fits(pricing.request, most.request) &&
    fits(pricing.image, most.image) &&
    fits(pricing.audio_input, most.audio)
  )
}
