import { type Fraction, NANO, type Nano, fromUsd, roundHalfUp, roundUp } from '#core/money.ts'
import type { CostSource, Usage } from '#core/usage.ts'
import { type Pricing, type Prices, type Usd, nanoPerMillion, pricesFor } from '../../catalogue/model.ts'
import type { Offer } from '../offer.ts'

export interface Cost {
  nano: Nano | null
  source: CostSource | null
}

/** Limit for a reported cost without a reservation: far above any sane call, below a broken figure. */
const REPORTED_LIMIT = 10_000n * NANO

const MILLION = 1_000_000n

/**
 * A report, from a provider known to report costs, only counts if it is plausible; otherwise units × price over all
 * buckets, exact, rounded once, half up.
 */
export function costOf(
  usage: Usage,
  offer: Offer,
  reportedUsd: number | undefined,
  reservation: Nano | null,
  { estimated: isEstimated = false, media }: { estimated?: boolean; media?: TokensOfMedia | undefined } = {},
): Cost {
  const { endpoint, pricing } = offer
  const report = credibleReport(reportedUsd, reservation)
  if (report !== null) return { nano: report, source: 'reported' }
  if (endpoint.billing === 'free') return { nano: 0n, source: 'free' }
  if (pricing === null) return { nano: null, source: null }
  const exact = exactCost(usage, pricing, media)
  if (exact === null) return { nano: null, source: null }
  return { nano: roundHalfUp(exact), source: isEstimated ? 'estimated' : 'computed' }
}

/** Plausible: finite, not negative, and within the reservation. */
export function credibleReport(usd: number | undefined, reservation: Nano | null): Nano | null {
  if (usd === undefined || !Number.isFinite(usd) || usd < 0 || usd >= 1e6) return null
  const nano = fromUsd(usd)
  return nano <= (reservation ?? REPORTED_LIMIT) ? nano : null
}

/** Some vendors price them separately. */
export interface TokensOfMedia {
  audioInput: number
  audioOutput: number
  imageInput: number
  /** Null: not reported. If images have their own price, all output may be images. */
  imageOutput: number | null
}

export const noMedia: TokensOfMedia = { audioInput: 0, audioOutput: 0, imageInput: 0, imageOutput: null }
/** Worst case of billed images in one answer: more than any model generates. */
const PICTURES_AN_ANSWER = 10
/** Seconds have decimals, so they are counted in millionths. */
const MICRO = 1_000_000

/** An exact fraction of a nano-dollar. Null: a used unit has no known price. */
export function exactCost(usage: Usage, pricing: Pricing, media: TokensOfMedia = noMedia): Fraction | null {
  const input = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_5m_tokens + usage.cache_write_1h_tokens
  const rate = ratesOf(pricesFor(pricing, input), pricing.audio_unit)
  const audioInput = Math.min(media.audioInput, usage.input_tokens)
  const imageInput = Math.min(media.imageInput, usage.input_tokens - audioInput)
  const audioOutput = Math.min(media.audioOutput, usage.output_tokens)
  const untold = rate.imageOutput > rate.output ? usage.output_tokens : 0
  const imageOutput = Math.min(media.imageOutput ?? untold, usage.output_tokens - audioOutput)
  let sum = 0n
  const add = (units: number, price: bigint | null): boolean => {
    if (units <= 0) return true
    if (price === null) return false
    sum += BigInt(Math.round(units)) * price
    return true
  }
  const isPriced =
    add(usage.input_tokens - audioInput - imageInput, rate.input) &&
    add(audioInput, rate.audioInput) &&
    add(imageInput, rate.imageInput) &&
    add(usage.cache_read_tokens, rate.cacheRead) &&
    add(usage.cache_write_5m_tokens, rate.cacheWrite5m) &&
    add(usage.cache_write_1h_tokens, rate.cacheWrite1h) &&
    add(usage.output_tokens - audioOutput - imageOutput, rate.output) &&
    add(audioOutput, rate.audioOutput) &&
    add(imageOutput, rate.imageOutput) &&
    add(usage.reasoning_tokens, rate.reasoning) &&
    // Tokens and images measure the same output: images only cost if they have a price.
    (rate.image === null && usage.total_tokens > 0 ? true : add(usage.images, rate.image))
  if (!isPriced) return null
  sum += BigInt(usage.requests) * rate.request * MILLION
  // Tokens and seconds measure the same audio: seconds only cost if they have a price.
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
  /** 0 if images have their own price: their tokens are then free. */
  imageOutput: bigint
  second: bigint | null
  request: bigint
}

const ratesByPrices = new WeakMap<Prices, Rates>()

/** Without a cache price, cache counts as input; reasoning counts as output, audio and images as text. */
function ratesOf(prices: Prices, audioUnit: Pricing['audio_unit']): Rates {
  const before = ratesByPrices.get(prices)
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
  ratesByPrices.set(prices, rates)
  return rates
}

export function worstCost(pricing: Pricing, inputTokens: number, outputTokens: number, requests: number): Nano {
  return roundUp({
    numerator:
      worstInput(pricing, inputTokens, requests) + BigInt(outputTokens) * worstOutputRate(pricing, inputTokens),
    denominator: MILLION,
  })
}

/** Negative if `nano` doesn't cover the input. */
export function affordableOutput(pricing: Pricing, nano: Nano, inputTokens: number, requests: number): number {
  const remainder = nano * MILLION - worstInput(pricing, inputTokens, requests)
  if (remainder < 0n) return -1
  const rate = worstOutputRate(pricing, inputTokens)
  if (rate === 0n) return Number.MAX_SAFE_INTEGER
  const tokens = remainder / rate
  return tokens > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(tokens)
}

export const pricesPictures = (pricing: Prices): boolean =>
  pricing.image !== undefined && pricing.image_output === undefined

export const worstPictures = (pricing: Pricing, answers: number): Nano =>
  pricesPictures(pricing) ? worstImages(pricing.image!, PICTURES_AN_ANSWER * answers) : 0n

export const worstImages = (price: Usd, images: number): Nano =>
  roundUp({ numerator: nanoPerMillion(price) * BigInt(images), denominator: MILLION })

function worstInput(pricing: Pricing, tokens: number, requests: number): bigint {
  let price = 0n
  let fee = 0n
  for (const prices of reachable(pricing, tokens)) {
    const rate = ratesOf(prices, pricing.audio_unit)
    // Includes cache reads: a price list may put them above input.
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

const reachable = (pricing: Pricing, inputTokens: number): Prices[] => [
  pricing,
  ...(pricing.tiers ?? []).filter((tier) => inputTokens > tier.above_input_tokens),
]
