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

/** The same for live calls and `routing-preview`. */
export interface RoutingConstraints {
  seed: number
  /** True if an offer can be used, directly or by translation; absent: all can. */
  serves?: (offer: Offer) => boolean
  needs?: readonly string[]
  inputTokens?: number
  maxTokens?: number
  only?: readonly string[]
  ignore?: readonly string[]
  order?: readonly string[]
  /** False: only providers in `order` are tried, or without `order` only the first choice. */
  allowFallbacks?: boolean
  parameters?: readonly string[]
  dataCollection?: 'allow' | 'deny'
  zeroRetention?: boolean
  quantizations?: readonly string[]
  maxPrice?: MaxPrice
  free?: boolean
  relayed?: string
  distillable?: boolean
  sort?: Sort
  minThroughput?: Cutoffs
  maxLatency?: Cutoffs
  cacheHolder?: string
  /** True if a call is paid from a balance or counts toward a cap, which requires a price. */
  guards?: (billing: Billing) => boolean
  rules?: readonly ModelRule[]
}

export interface RequestSummary {
  tools: boolean
  images: boolean
  inputTokens: number | null
  maxTokens: number | null
}

/** Before preferences; for live calls and for `routing-preview`. */
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

/** `x-uk-seed: 7`, as `routing-preview` reports it; null: random. */
export function seedIn(value: unknown): number | null {
  if (value === undefined) return null
  return typeof value === 'string' && /^\d{1,10}$/.test(value) && Number(value) <= HIGHEST_SEED
    ? Number(value)
    : refuseHeader('x-uk-seed', `a whole number from 0 to ${HIGHEST_SEED}`)
}

/** `x-uk-strict: 1`: providers that would lose a field are skipped. */
export function strictIn(value: unknown): boolean {
  if (value === undefined) return false
  const word = String(value).toLowerCase()
  if (word === '1' || word === 'true') return true
  return word === '0' || word === 'false' ? false : refuseHeader('x-uk-strict', '1 or true, or 0 or false')
}

/** `x-uk-hedge: 800`: after this many milliseconds without a first byte, the next candidate is tried as well. */
export function hedgeDelayIn(value: unknown): number | null {
  if (value === undefined) return null
  return typeof value === 'string' && /^\d{1,6}$/.test(value)
    ? Number(value)
    : refuseHeader('x-uk-hedge', 'a number of milliseconds')
}

const refuseHeader = (name: string, right: string): never =>
  refuse('invalid_parameter', { message: `\`${name}\` must be ${right}.`, param: name })

const IMAGES: ReadonlySet<unknown> = new Set(['image_url', 'image', 'input_image'])

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
