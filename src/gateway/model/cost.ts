import { type Fraction, NANO, type Nano, fromUsd, roundHalfUp, roundUp } from '#kernel/money.ts'
import type { CostSource, Usage } from '#kernel/usage.ts'
import { type Pricing, type Prices, type Usd, nanoPerMillion, pricesFor } from '../catalogue/model.ts'
import type { Offer } from './offer.ts'

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
  { estimated = false, audio }: { estimated?: boolean; audio?: AudioTokens | undefined } = {},
): Cost {
  const { endpoint, pricing } = offer
  const stated = credibleReport(reportedUsd, reserved)
  if (stated !== null) return { nano: stated, source: 'reported' }
  if (endpoint.billing === 'free') return { nano: 0n, source: 'free' }
  if (pricing === null) return { nano: null, source: null }
  const exact = exactCost(usage, pricing, audio)
  if (exact === null) return { nano: null, source: null }
  return { nano: roundHalfUp(exact), source: estimated ? 'estimated' : 'computed' }
}

/** A cost that a vendor states, where it can be true: finite, not negative, and within what was reserved. */
export function credibleReport(usd: number | undefined, reserved: Nano | null): Nano | null {
  if (usd === undefined || !Number.isFinite(usd) || usd < 0 || usd >= 1e6) return null
  const nano = fromUsd(usd)
  return nano <= (reserved ?? REPORTED_LIMIT) ? nano : null
}

/** The part of `input_tokens` and of `output_tokens` that was sound, where a vendor says so: some price it apart. */
export interface AudioTokens {
  input: number
  output: number
}

const SILENT: AudioTokens = { input: 0, output: 0 }
/** Seconds come with decimals: they are counted in millionths. */
const MICRO = 1_000_000

/** Σ units × price as an exact fraction of a nano-dollar. Null: something was used whose price is in no source. */
export function exactCost(usage: Usage, pricing: Pricing, audio: AudioTokens = SILENT): Fraction | null {
  const input = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_5m_tokens + usage.cache_write_1h_tokens
  const rate = ratesOf(pricesFor(pricing, input), pricing.audio_unit)
  const heard = Math.min(audio.input, usage.input_tokens)
  const audioOutput = Math.min(audio.output, usage.output_tokens)
  let sum = 0n
  const add = (units: number, price: bigint | null): boolean => {
    if (units <= 0) return true
    if (price === null) return false
    sum += BigInt(Math.round(units)) * price
    return true
  }
  const priced =
    add(usage.input_tokens - heard, rate.input) &&
    add(heard, rate.audioInput) &&
    add(usage.cache_read_tokens, rate.cacheRead) &&
    add(usage.cache_write_5m_tokens, rate.cacheWrite5m) &&
    add(usage.cache_write_1h_tokens, rate.cacheWrite1h) &&
    add(usage.output_tokens - audioOutput, rate.output) &&
    add(audioOutput, rate.audioOutput) &&
    add(usage.reasoning_tokens, rate.reasoning) &&
    add(usage.images, rate.image)
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
  /** Of sound, either way. */
  second: bigint | null
  request: bigint
}

const known = new WeakMap<Prices, Rates>()

/** Input that a source gives no cache price for is priced as input, reasoning as output, sound as text. */
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

/** So many pictures, rounded up. */
export const worstImages = (price: Usd, images: number): Nano =>
  roundUp({ numerator: nanoPerMillion(price) * BigInt(images), denominator: MILLION })

function worstInput(pricing: Pricing, tokens: number, requests: number): bigint {
  let price = 0n
  let fee = 0n
  for (const prices of reachable(pricing, tokens)) {
    const rate = ratesOf(prices, pricing.audio_unit)
    // Cache reads count too: a source may price them above input.
    for (const one of [rate.input, rate.cacheRead, rate.cacheWrite5m, rate.cacheWrite1h, rate.audioInput])
      if (one > price) price = one
    if (rate.request > fee) fee = rate.request
  }
  return BigInt(tokens) * price + BigInt(requests) * fee * MILLION
}

function worstOutputRate(pricing: Pricing, inputTokens: number): bigint {
  let price = 0n
  for (const prices of reachable(pricing, inputTokens)) {
    const rate = ratesOf(prices, pricing.audio_unit)
    for (const one of [rate.output, rate.reasoning, rate.audioOutput]) if (one > price) price = one
  }
  return price
}

/** Every tier that a request of at most so many input tokens can fall into. */
const reachable = (pricing: Pricing, inputTokens: number): Prices[] => [
  pricing,
  ...(pricing.tiers ?? []).filter((tier) => inputTokens > tier.above_input_tokens),
]
