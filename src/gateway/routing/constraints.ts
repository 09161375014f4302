import { refuse } from '#core/errors.ts'
import type { ModelRule } from '#core/principal.ts'
import type { Billing } from '#core/usage.ts'
import type { Offer } from '../model/offer.ts'
import { guessInput } from '../model/cost/weigh.ts'
import { isObject } from '../model/json.ts'

/** Upper bounds in USD: tokens and media per million, `request` each. */
export type MaxPrice = Readonly<Partial<Record<'prompt' | 'completion' | 'request' | 'image' | 'audio', number>>>

/** `exacto`: who failed least. */
export type Sort = 'price' | 'throughput' | 'latency' | 'exacto'

/** A bound that a percentile of the last minutes' calls must keep to; a bare number bounds the median. */
export type Cutoffs = Readonly<Partial<Record<'p50' | 'p75' | 'p90' | 'p99', number>>>

/** The constraints that a caller puts on a route. A live call and `routing-preview` give the same and get the same. */
export interface RoutingConstraints {
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
  cacheHolder?: string
  /** Whether a call is paid from a balance or counts under a cap, which takes a price. */
  guards?: (billing: Billing) => boolean
  /** What the key, the member and the workspace are held to. */
  rules?: readonly ModelRule[]
}

/** A request as far as the router looks at it. */
export interface RequestSummary {
  tools: boolean
  images: boolean
  /** A fair guess; null: not known. */
  inputTokens: number | null
  maxTokens: number | null
}

/** The constraints of a request before any preference, made here for live calls and for `routing-preview`. */
export function constraintsFor(
  { tools, images, inputTokens, maxTokens }: RequestSummary,
  seed: number,
  serves: (offer: Offer) => boolean,
  guards: (billing: Billing) => boolean,
): RoutingConstraints {
  return {
    seed,
    serves,
    guards,
    needs: [...(tools ? ['tools'] : []), ...(images ? ['vision'] : [])],
    ...(inputTokens !== null && { inputTokens }),
    ...(maxTokens !== null && { maxTokens }),
  }
}

export function summaryOf(json: Record<string, unknown>, limitFields: readonly string[]): RequestSummary {
  const limits = limitFields.map((field) => json[field]).filter((value) => typeof value === 'number')
  return {
    tools: Array.isArray(json.tools) && json.tools.length > 0,
    images: holdsImage(json.messages ?? json.input),
    inputTokens: guessInput(json),
    maxTokens: limits.length === 0 ? null : Math.max(...limits),
  }
}

const HIGHEST_SEED = 2 ** 32 - 1

/** `x-uk-seed: 7`, as `routing-preview` names it; null: the draw is free. */
export function seedIn(given: unknown): number | null {
  if (given === undefined) return null
  return typeof given === 'string' && /^\d{1,10}$/.test(given) && Number(given) <= HIGHEST_SEED
    ? Number(given)
    : refuseHeader('x-uk-seed', `a whole number from 0 to ${HIGHEST_SEED}`)
}

/** `x-uk-strict: 1`: whoever would lose a field of the request is not asked. */
export function strictIn(given: unknown): boolean {
  if (given === undefined) return false
  const word = String(given).toLowerCase()
  if (word === '1' || word === 'true') return true
  return word === '0' || word === 'false' ? false : refuseHeader('x-uk-strict', '1 or true, or 0 or false')
}

/** `x-uk-hedge: 800`: after so many milliseconds without a first byte the next candidate is asked as well. */
export function hedgeDelayIn(given: unknown): number | null {
  if (given === undefined) return null
  return typeof given === 'string' && /^\d{1,6}$/.test(given)
    ? Number(given)
    : refuseHeader('x-uk-hedge', 'a number of milliseconds')
}

const refuseHeader = (name: string, right: string): never =>
  refuse('invalid_parameter', { message: `\`${name}\` must be ${right}.`, param: name })

const IMAGES: ReadonlySet<unknown> = new Set(['image_url', 'image', 'input_image'])

/** Among what was said, and among what tools answered. */
const holdsImage = (turns: unknown): boolean =>
  Array.isArray(turns) &&
  turns.some(
    (canonical: unknown) => isObject(canonical) && (isImageIn(canonical.content) || isImageIn(canonical.output)),
  )

const isImageIn = (parts: unknown): boolean =>
  Array.isArray(parts) && parts.some((part: unknown) => isImage(part) || isResultWithImage(part))

const isResultWithImage = (part: unknown): boolean =>
  isObject(part) && part.type === 'tool_result' && Array.isArray(part.content) && part.content.some(isImage)

const isImage = (part: unknown): boolean => isObject(part) && IMAGES.has(part.type)
