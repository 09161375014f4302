import { type Fraction, NANO, type Nano, fromUsd, roundHalfUp, roundUp } from '#core/money.ts'
import type { CostSource, Usage } from '#core/usage.ts'
import { type Pricing, type Prices, type Usd, nanoPerMillion, pricesFor } from '../../catalogue/model.ts'
import type { Offer } from '../offer.ts'

export interface Cost {
  /** Null: the model has no price. */
  nano: Nano | null
  source: CostSource | null
}

/** The most that a reported cost may claim where nothing was reserved: a sane call is far below, a broken figure above. */
const REPORTED_LIMIT = 10_000n * NANO

const MILLION = 1_000_000n

/**
 * The cost of a call. A reported cost, of a provider that is known to report one, counts only if it is finite, not negative and
 * within what was reserved; else units × price over all buckets, exact, rounded once, half up.
 */
export function costOf(
  usage: Usage,
  offer: Offer,
  reportedUsd: number | undefined,
  reserved: Nano | null,
  { estimated = false, media }: { estimated?: boolean; media?: TokensOfMedia | undefined } = {},
): Cost {
  const { endpoint, pricing } = offer
  const stated = credibleReport(reportedUsd, reserved)
  if (stated !== null) return { nano: stated, source: 'reported' }
  if (endpoint.billing === 'free') return { nano: 0n, source: 'free' }
  if (pricing === null) return { nano: null, source: null }
  const exact = exactCost(usage, pricing, media)
  if (exact === null) return { nano: null, source: null }
  return { nano: roundHalfUp(exact), source: estimated ? 'estimated' : 'computed' }
}

/** A cost that a vendor states, where it can be true: finite, not negative, and within what was reserved. */
export function credibleReport(usd: number | undefined, reserved: Nano | null): Nano | null {
  if (usd === undefined || !Number.isFinite(usd) || usd < 0 || usd >= 1e6) return null
  const nano = fromUsd(usd)
  return nano <= (reserved ?? REPORTED_LIMIT) ? nano : null
}

/** The parts of `input_tokens` and of `output_tokens` that were sound and pictures, where a vendor says so: some price them apart. */
export interface TokensOfMedia {
  audioInput: number
  audioOutput: number
  imageInput: number
  /** Null: the vendor does not say. Where pictures have a price of their own, all of the output may be theirs. */
  imageOutput: number | null
}

export const noMedia: TokensOfMedia = { audioInput: 0, audioOutput: 0, imageInput: 0, imageOutput: null }
/** The pictures of one answer that are paid for at worst: more than any model makes. */
const PICTURES_AN_ANSWER = 10
/** Seconds come with decimals: they are counted in millionths. */
const MICRO = 1_000_000

/** Σ units × price as an exact fraction of a nano-dollar. Null: something was used whose price is in no source. */
export function exactCost(usage: Usage, pricing: Pricing, media: TokensOfMedia = noMedia): Fraction | null {
  const input = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_5m_tokens + usage.cache_write_1h_tokens
  const rate = ratesOf(pricesFor(pricing, input), pricing.audio_unit)
  const heard = Math.min(media.audioInput, usage.input_tokens)
  const seen = Math.min(media.imageInput, usage.input_tokens - heard)
  const spoken = Math.min(media.audioOutput, usage.output_tokens)
  const untold = rate.imageOutput > rate.output ? usage.output_tokens : 0
  const drawn = Math.min(media.imageOutput ?? untold, usage.output_tokens - spoken)
  let sum = 0n
  const add = (units: number, price: bigint | null): boolean => {
    if (units <= 0) return true
    if (price === null) return false
    sum += BigInt(Math.round(units)) * price
    return true
  }
  const priced =
    add(usage.input_tokens - heard - seen, rate.input) &&
    add(heard, rate.audioInput) &&
    add(seen, rate.imageInput) &&
    add(usage.cache_read_tokens, rate.cacheRead) &&
    add(usage.cache_write_5m_tokens, rate.cacheWrite5m) &&
    add(usage.cache_write_1h_tokens, rate.cacheWrite1h) &&
    add(usage.output_tokens - spoken - drawn, rate.output) &&
    add(spoken, rate.audioOutput) &&
    add(drawn, rate.imageOutput) &&
    add(usage.reasoning_tokens, rate.reasoning) &&
    // Tokens and pictures are two measures of the same: pictures cost where the source prices pictures.
    (rate.image === null && usage.total_tokens > 0 ? true : add(usage.images, rate.image))
  if (!priced) return null
  sum += BigInt(usage.requests) * rate.request * MILLION
  // Tokens and seconds of one sound are two measures of it: seconds cost where the source prices seconds.
  if (usage.audio_seconds <= 0 || (rate.second === null && usage.total_tokens > 0))
    return { numerator: sum, denominator: MILLION }
  if (rate.second === null) return null
  const micros = BigInt(Math.round(usage.audio_seconds * MICRO))
  return { numerator: sum * BigInt(MICRO) + micros * rate.second, denominator: MILLION * BigInt(MICRO) }
}

/** Nano-dollars per million units; `request` per request. */
interface Rates {
  input: bigint
  cacheRead: bigint
  cacheWrite5m: bigint
  cacheWrite1h: bigint
  output: bigint
  reasoning: bigint
  image: bigint | null
  audioInput: bigint
  audioOutput: bigint
  imageInput: bigint
  /** A picture that has a price of its own costs no tokens besides. */
  imageOutput: bigint
  /** The price of a second of sound, either way. */
  second: bigint | null
  request: bigint
}

const known = new WeakMap<Prices, Rates>()

/** Input that a source gives no cache price for is priced as input, reasoning as output, sound and pictures as text. */
function ratesOf(prices: Prices, audioUnit: Pricing['audio_unit']): Rates {
  const before = known.get(prices)
  if (before) return before
  const input = nanoPerMillion(prices.input)
  const output = nanoPerMillion(prices.output)
  const or = (price: string | undefined, other: bigint): bigint => (price === undefined ? other : nanoPerMillion(price))
  const cacheWrite5m = or(prices.cache_write_5m, input)
  const rates: Rates = {
    input,
    output,
    cacheRead: or(prices.cache_read, input),
    cacheWrite5m,
    cacheWrite1h: or(prices.cache_write_1h, cacheWrite5m),
    reasoning: or(prices.reasoning, output),
    imageInput: or(prices.image_input, input),
    imageOutput: pricesPictures(prices) ? 0n : or(prices.image_output, output),
    image: prices.image === undefined ? null : nanoPerMillion(prices.image),
    audioInput: audioUnit === 'token' ? or(prices.audio_input, input) : input,
    audioOutput: audioUnit === 'token' ? or(prices.audio_output, output) : output,
    second:
      prices.audio_second !== undefined
        ? nanoPerMillion(prices.audio_second)
        : audioUnit === 'second'
          ? or(prices.audio_input ?? prices.audio_output, 0n)
          : null,
    request: prices.request === undefined ? 0n : fromUsd(prices.request),
  }
  known.set(prices, rates)
  return rates
}

/** The worst that so many tokens may cost under any tier and bucket, rounded up. */
export function worstCost(pricing: Pricing, inputTokens: number, outputTokens: number, requests: number): Nano {
  return roundUp({
    numerator:
      worstInput(pricing, inputTokens, requests) + BigInt(outputTokens) * worstOutputRate(pricing, inputTokens),
    denominator: MILLION,
  })
}

/** The output tokens that `nano` still pays for after so much input; negative when it does not even pay for that. */
export function affordableOutput(pricing: Pricing, nano: Nano, inputTokens: number, requests: number): number {
  const left = nano * MILLION - worstInput(pricing, inputTokens, requests)
  if (left < 0n) return -1
  const rate = worstOutputRate(pricing, inputTokens)
  if (rate === 0n) return Number.MAX_SAFE_INTEGER
  const tokens = left / rate
  return tokens > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(tokens)
}

/** Whether pictures of an answer cost by their number, and not by their tokens. */
export const pricesPictures = (pricing: Prices): boolean =>
  pricing.image !== undefined && pricing.image_output === undefined

/** The pictures that so many answers may hold, where each has a price. */
export const worstPictures = (pricing: Pricing, answers: number): Nano =>
  pricesPictures(pricing) ? worstImages(pricing.image!, PICTURES_AN_ANSWER * answers) : 0n

/** The cost of so many pictures, rounded up. */
export const worstImages = (price: Usd, images: number): Nano =>
  roundUp({ numerator: nanoPerMillion(price) * BigInt(images), denominator: MILLION })

function worstInput(pricing: Pricing, tokens: number, requests: number): bigint {
  let price = 0n
  let fee = 0n
  for (const prices of reachable(pricing, tokens)) {
    const rate = ratesOf(prices, pricing.audio_unit)
    // Cache reads count too: a source may price them above input.
    const { input, cacheRead, cacheWrite5m, cacheWrite1h, audioInput, imageInput } = rate
    for (const one of [input, cacheRead, cacheWrite5m, cacheWrite1h, audioInput, imageInput])
      if (one > price) price = one
    if (rate.request > fee) fee = rate.request
  }
  return BigInt(tokens) * price + BigInt(requests) * fee * MILLION
}

function worstOutputRate(pricing: Pricing, inputTokens: number): bigint {
  let price = 0n
  for (const prices of reachable(pricing, inputTokens)) {
    const rate = ratesOf(prices, pricing.audio_unit)
    for (const one of [rate.output, rate.reasoning, rate.audioOutput, rate.imageOutput]) if (one > price) price = one
  }
  return price
}

/** Every tier that a request of at most so many input tokens can fall into. */
const reachable = (pricing: Pricing, inputTokens: number): Prices[] => [
  pricing,
  ...(pricing.tiers ?? []).filter((tier) => inputTokens > tier.above_input_tokens),
]
