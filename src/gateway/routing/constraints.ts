import { refuse } from '#core/errors.ts'
import type { ModelRule } from '#core/principal.ts'
import type { Billing } from '#core/usage.ts'
import type { Offer } from '../model/offer.ts'
import { guessInput } from '../model/cost/weigh.ts'
import { isObject } from '../model/json.ts'

/** Maximum prices in USD: tokens and media per million, `request` each. */
export type MaxPrice = Readonly<Partial<Record<'prompt' | 'completion' | 'request' | 'image' | 'audio', number>>>

/** `exacto`: lowest failure rate. */
export type Sort = 'price' | 'throughput' | 'latency' | 'exacto'

/** Limits for percentiles of the last minutes' calls; a bare number limits the median. */
export type Cutoffs = Readonly<Partial<Record<'p50' | 'p75' | 'p90' | 'p99', number>>>

/** A caller's constraints on routing. The same for live calls and `routing-preview`. */
export interface RoutingConstraints {
  /** Seed of the draw; the same seed gives the same order. */
  seed: number
  /** True if an offer can be used, directly or by translation; absent: all can. */
  serves?: (offer: Offer) => boolean
  /** Capabilities that the model must have, if its capabilities are known. */
  needs?: readonly string[]
  inputTokens?: number
  maxTokens?: number
  /** Providers by slug or preset. */
  only?: readonly string[]
  ignore?: readonly string[]
  order?: readonly string[]
  /** False: only providers in `order` are tried, or without `order` only the first choice. */
  allowFallbacks?: boolean
  /** Parameters of the request, in OpenRouter's names, that the provider must support. */
  parameters?: readonly string[]
  dataCollection?: 'allow' | 'deny'
  zeroRetention?: boolean
  quantizations?: readonly string[]
  maxPrice?: MaxPrice
  /** Only free offers. */
  free?: boolean
  /** A feature that only an aggregator supports, as the caller wrote it. */
  relayed?: string
  /** Only models whose output may be used for training. */
  distillable?: boolean
  sort?: Sort
  minThroughput?: Cutoffs
  /** Seconds. */
  maxLatency?: Cutoffs
  /** The endpoint that caches this conversation's prompt. */
  cacheHolder?: string
  /** True if a call is paid from a balance or counts toward a cap, which requires a price. */
  guards?: (billing: Billing) => boolean
  /** Model rules of the key, the member, and the workspace. */
  rules?: readonly ModelRule[]
}

/** The parts of a request that the router reads. */
export interface RequestSummary {
  tools: boolean
  images: boolean
  /** An estimate; null: unknown. */
  inputTokens: number | null
  maxTokens: number | null
}

/** Builds a request's constraints before preferences, for live calls and for `routing-preview`. */
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

/** Reads `x-uk-seed: 7`, as `routing-preview` reports it; null: random. */
export function seedIn(value: unknown): number | null {
  if (value === undefined) return null
  return typeof value === 'string' && /^\d{1,10}$/.test(value) && Number(value) <= HIGHEST_SEED
    ? Number(value)
    : refuseHeader('x-uk-seed', `a whole number from 0 to ${HIGHEST_SEED}`)
}

/** Reads `x-uk-strict: 1`: providers that would lose a field of the request are skipped. */
export function strictIn(value: unknown): boolean {
  if (value === undefined) return false
  const word = String(value).toLowerCase()
  if (word === '1' || word === 'true') return true
  return word === '0' || word === 'false' ? false : refuseHeader('x-uk-strict', '1 or true, or 0 or false')
}

/** Reads `x-uk-hedge: 800`: after this many milliseconds without a first byte, the next candidate is tried as well. */
export function hedgeDelayIn(value: unknown): number | null {
  if (value === undefined) return null
  return typeof value === 'string' && /^\d{1,6}$/.test(value)
    ? Number(value)
    : refuseHeader('x-uk-hedge', 'a number of milliseconds')
}

const refuseHeader = (name: string, right: string): never =>
  refuse('invalid_parameter', { message: `\`${name}\` must be ${right}.`, param: name })

const IMAGES: ReadonlySet<unknown> = new Set(['image_url', 'image', 'input_image'])

/** Searches messages and tool results. */
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
