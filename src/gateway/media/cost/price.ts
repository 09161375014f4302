import { type Fraction, type Nano, fromUsd, roundHalfUp, roundUp } from '#core/money.ts'
import { type Usage, usageOf } from '#core/usage.ts'
import { type Prices, type Pricing, type Usd, type When, nanoPerMillion } from '../../catalogue/model.ts'
import { type Cost, credibleReport } from '../../model/cost/cost.ts'
import type { MediaOffer } from '../../model/offer.ts'
import type { MediaRequest, MediaUnits } from '../adapter.ts'
import { choicesIn } from '../request-fields.ts'

interface Units {
  images: number
  pixels: number
  videoSeconds: number
  audioSeconds: number
  characters: number
  input: number
  cached: number
  imageInput: number
  audioInput: number
  output: number
  imageOutput: number
  audioOutput: number
}

/** Seconds have decimals, so all units are counted in millionths. */
const MICRO = 1_000_000
const MILLION = 1_000_000n

const MAX_PIXELS = 4096 * 4096
const IMAGE_TOKENS = 16_384
/** Tokens per second of audio: vendors that count it so produce 10 to 32. */
const SOUND_TOKENS = 50
/** Tokens of text spoken per second: four times what the fastest speakers reach. */
const SAID_TOKENS = 20
/** Time to speak a code point at normal speed: digits and CJK take longest. */
const SECONDS_A_CHARACTER = 0.5
const BYTES_A_SECOND = 1_000

/**
 * In nano-dollars: the units at the highest price that may apply, rounded up (contract, part 16, "Money"). Null: the
 * price is unknown, or nothing limits the result.
 */
export function worstCase(request: MediaRequest, offer: MediaOffer): Nano | null {
  if (offer.endpoint.billing === 'free') return 0n
  const { pricing } = offer.media
  if (pricing === null) return null
  const { isEndless, ...most } = mostUnits(request, offer)
  let worst: Nano | null = null
  for (const prices of possiblePrices(pricing, request)) {
    if (!charges(request.kind, prices) || (isEndless && prices.video_second !== undefined)) return null
    const nano = roundUp(sum(most, dearest(prices)))
    if (worst === null || nano > worst) worst = nano
  }
  return worst
}

/**
 * The vendor's report within the reservation; else units × price, exact, rounded once, half up. Unreported units count
 * as requested; if an unknown number of units is charged, the reservation counts.
 */
export function costOf(request: MediaRequest, reported: MediaUnits, offer: MediaOffer, reservation: Nano | null): Cost {
  const report = credibleReport(reported.reportedUsd, reservation)
  if (report !== null) return { nano: report, source: 'reported' }
  if (offer.endpoint.billing === 'free') return { nano: 0n, source: 'free' }
  const { pricing } = offer.media
  if (pricing === null) return { nano: null, source: null }
  const prices = pricesOf(pricing, request)
  if (!charges(request.kind, prices)) return { nano: null, source: null }
  const units = unitsOf(request, reported)
  if (isUntold(request.kind, prices, units, reported))
    return reservation === null ? { nano: null, source: null } : { nano: reservation, source: 'estimated' }
  return { nano: roundHalfUp(sum(units, prices)), source: 'computed' }
}

export function mediaUsage(request: MediaRequest, reported: MediaUnits): Usage {
  const units = unitsOf(request, reported)
  return usageOf({
    input_tokens: units.input + units.imageInput + units.audioInput,
    cache_read_tokens: units.cached,
    output_tokens: units.output + units.imageOutput + units.audioOutput,
    images: units.images,
    audio_seconds: units.audioSeconds,
    video_seconds: units.videoSeconds,
    characters: units.characters,
  })
}

/** Removes fields that didn't reach the vendor: a price that depends on them was its choice. */
export function asSent<R extends MediaRequest>(request: R, losses: readonly string[]): R {
  const lostFields = (['size', 'quality', 'resolution', 'audio'] as const).filter(
    (name) => name in request && losses.includes(name),
  )
  return lostFields.length === 0
    ? request
    : { ...request, ...Object.fromEntries(lostFields.map((name) => [name, null])) }
}

/** The first matching variant over the plain prices. */
function pricesOf(pricing: Pricing, request: MediaRequest): Prices {
  const choices = chosenBy(request)
  const variant = pricing.variants?.find(({ when }) => matches(when, choices) === 'surely')
  const prices = variant === undefined ? pricing : { ...pricing, ...variant }
  if (charges(request.kind, prices) && choicesIn(request).size === 0) return prices
  // The vendor chose among these prices, because the request left something open or `provider_options` set it in the
  // vendor's own terms.
  const all = [...possiblePrices(pricing, request)].filter((one) => charges(request.kind, one))
  return all.length === 0 ? prices : all.reduce((one, other) => (weightOf(one) >= weightOf(other) ? one : other))
}

const weightOf = (prices: Prices): bigint => BUCKETS.reduce((total, bucket) => total + rate(prices[bucket]), 0n)

function* possiblePrices(pricing: Pricing, request: MediaRequest): Generator<Prices> {
  const choices = chosenBy(request)
  const plain = charges(request.kind, pricing)
  let variants = 0
  for (const variant of pricing.variants ?? []) {
    const fit = matches(variant.when, choices)
    if (fit === 'no') continue
    variants += 1
    yield { ...pricing, ...variant }
    if (fit === 'surely') return
  }
  if (plain || variants === 0) yield pricing
}

type Choices = { [key in keyof When]-?: NonNullable<When[key]> | null }

function chosenBy(request: MediaRequest): Choices {
  const named = namedBy(request)
  for (const open of choicesIn(request)) named[open] = null
  return named
}

function namedBy(request: MediaRequest): Choices {
  if (request.kind !== 'image' && request.kind !== 'video')
    return { size: null, quality: null, resolution: null, audio: null }
  const { size } = request
  const words = size && `${size.width}x${size.height}`
  if (request.kind === 'image') return { size: words, quality: request.quality, resolution: null, audio: null }
  const lines = size && `${Math.min(size.width, size.height)}p`
  return { size: words, quality: null, resolution: request.resolution ?? lines, audio: request.audio }
}

function matches(when: When, asked: Choices): 'surely' | 'perhaps' | 'no' {
  let fit: 'surely' | 'perhaps' = 'surely'
  for (const key of Object.keys(when) as (keyof When)[]) {
    const value = plainWord(when[key])
    if (asked[key] === null || asked[key] === 'auto') fit = 'perhaps'
    else if (plainWord(asked[key]) !== value) return 'no'
  }
  return fit
}

const plainWord = (word: unknown): unknown => (typeof word === 'string' ? word.toLowerCase() : word)

const BUCKETS = [
  'image',
  'pixel',
  'video_second',
  'audio_second',
  'character',
  'input',
  'cache_read',
  'image_input',
  'audio_input',
  'output',
  'image_output',
  'audio_output',
] as const satisfies readonly (keyof Prices)[]

/** Image and audio tokens without their own price cost as much as text. */
function sum(units: Units, prices: Prices & { audio_unit?: Pricing['audio_unit'] }): Fraction {
  const inSeconds = prices.audio_unit === 'second'
  const input = rate(prices.input)
  const output = rate(prices.output)
  const or = (price: Usd | undefined, other: bigint): bigint => (price === undefined ? other : rate(price))
  const terms: [number, bigint][] = [
    [units.images, rate(prices.image)],
    [units.pixels, rate(prices.pixel)],
    [units.videoSeconds, rate(prices.video_second)],
    [units.audioSeconds, rate(secondOf(prices))],
    [units.characters, rate(prices.character)],
    [units.input, input],
    [units.cached, or(prices.cache_read, input)],
    [units.imageInput, or(prices.image_input, input)],
    [units.audioInput, inSeconds ? input : or(prices.audio_input, input)],
    [units.output, output],
    [units.imageOutput, or(prices.image_output, output)],
    [units.audioOutput, inSeconds ? output : or(prices.audio_output, output)],
  ]
  let numerator = prices.request === undefined ? 0n : fromUsd(prices.request) * MILLION * BigInt(MICRO)
  for (const [count, price] of terms) if (count > 0) numerator += BigInt(Math.round(count * MICRO)) * price
  return { numerator, denominator: MILLION * BigInt(MICRO) }
}

const rate = (price: Usd | undefined): bigint => (price === undefined ? 0n : nanoPerMillion(price))

/** Older price lists mark seconds with `audio_unit`. */
const secondOf = (prices: Prices & { audio_unit?: Pricing['audio_unit'] }): Usd | undefined =>
  prices.audio_second ?? (prices.audio_unit === 'second' ? (prices.audio_input ?? prices.audio_output) : undefined)

function dearest(prices: Prices): Prices {
  const most = (...of: (Usd | undefined)[]): Usd =>
    of.filter((price) => price !== undefined).reduce((one, other) => (rate(one) >= rate(other) ? one : other))
  const input = most(prices.input, prices.cache_read, prices.image_input, prices.audio_input)
  const output = most(prices.output, prices.image_output, prices.audio_output)
  return {
    ...prices,
    input,
    cache_read: input,
    image_input: input,
    audio_input: input,
    output,
    image_output: output,
    audio_output: output,
  }
}

/** The units of each kind's results: one of them must have a price, or its tokens, or the request. */
const UNITS = {
  image: { image: 'images', pixel: 'pixels' },
  video: { video_second: 'videoSeconds' },
  speech: { character: 'characters', audio_second: 'audioSeconds' },
  transcription: { audio_second: 'audioSeconds' },
} as const satisfies Record<MediaRequest['kind'], Partial<Record<keyof Prices, keyof Units & keyof MediaUnits>>>

const unitsOfKind = (kind: MediaRequest['kind']) =>
  Object.entries(UNITS[kind]) as [keyof Prices, keyof Units & keyof MediaUnits][]

export const chargesSeconds = (pricing: Pricing): boolean =>
  [pricing, ...(pricing.variants ?? [])].some((prices) => secondOf({ ...pricing, ...prices }) !== undefined)

const priceIn = (prices: Prices, bucket: keyof Prices): Usd | undefined =>
  bucket === 'audio_second' ? secondOf(prices) : prices[bucket]

const tokenPrice = (prices: Prices): bigint =>
  rate(prices.input) + rate(prices.output) + rate(prices.image_output) + rate(prices.audio_output)

const charges = (kind: MediaRequest['kind'], prices: Prices): boolean =>
  unitsOfKind(kind).some(([bucket]) => priceIn(prices, bucket) !== undefined) ||
  prices.request !== undefined ||
  tokenPrice(prices) > 0n

/** True if a price depends on an amount that neither the vendor nor the request states. */
function isUntold(kind: MediaRequest['kind'], prices: Prices, units: Units, reported: MediaUnits): boolean {
  const pricedUnits = unitsOfKind(kind).filter(([bucket]) => priceIn(prices, bucket) !== undefined)
  if (pricedUnits.length > 0) return pricedUnits.some(([, unit]) => reported[unit] === undefined && units[unit] === 0)
  return tokenPrice(prices) > 0n && reported.inputTokens === undefined && reported.outputTokens === undefined
}

const codePoints = (text: string): number => [...text].length

function unitsOf(request: MediaRequest, reported: MediaUnits): Units {
  const images = reported.images ?? (request.kind === 'image' ? request.n : 0)
  const size = request.kind === 'image' ? request.size : null
  const tokensIn = reported.inputTokens ?? 0
  const cachedTokens = Math.min(reported.cachedInputTokens ?? 0, tokensIn)
  const imageInput = Math.min(reported.inputImageTokens ?? 0, tokensIn - cachedTokens)
  const audioTokensIn = reported.inputAudioTokens ?? (request.kind === 'transcription' ? tokensIn : 0)
  const audioInput = Math.min(audioTokensIn, tokensIn - cachedTokens - imageInput)
  const tokensOut = reported.outputTokens ?? (reported.outputImageTokens ?? 0) + (reported.outputAudioTokens ?? 0)
  const imageTokensOut = reported.outputImageTokens ?? (request.kind === 'image' ? tokensOut : 0)
  const imageOutput = Math.min(imageTokensOut, tokensOut)
  const audioTokensOut = reported.outputAudioTokens ?? (request.kind === 'speech' ? tokensOut : 0)
  const audioOutput = Math.min(audioTokensOut, tokensOut - imageOutput)
  return {
    images,
    pixels: reported.pixels ?? (size === null ? 0 : images * size.width * size.height),
    videoSeconds: reported.videoSeconds ?? (request.kind === 'video' ? (request.seconds ?? 0) : 0),
    audioSeconds:
      reported.audioSeconds ?? (request.kind === 'transcription' ? (request.sound.durationSeconds ?? 0) : 0),
    characters: reported.characters ?? (request.kind === 'speech' ? codePoints(request.input) : 0),
    input: tokensIn - cachedTokens - imageInput - audioInput,
    cached: cachedTokens,
    imageInput,
    audioInput,
    output: tokensOut - imageOutput - audioOutput,
    imageOutput,
    audioOutput,
  }
}

/** Returns the maximum of each unit. `isEndless`: nothing limits the length of the video. */
function mostUnits(request: MediaRequest, offer: MediaOffer): Units & { isEndless?: true } {
  const { abilities } = offer.media
  const none: Units = { ...unitsOf(request, {}), images: 0, pixels: 0, videoSeconds: 0, audioSeconds: 0 }
  switch (request.kind) {
    case 'image': {
      const sizes = abilities.kind === 'image' ? abilities.sizes : []
      const isOpen = request.size === null || choicesIn(request).has('size')
      const requestedPixels = request.size === null ? 0 : request.size.width * request.size.height
      const pixels = isOpen ? Math.max(requestedPixels, mostPixels(sizes)) : requestedPixels
      const tokensIn = tokensRead(`${request.prompt}${request.negativePrompt ?? ''}`, offer, request.images.length + 1)
      const tokensOut = (offer.maxOutputTokens ?? IMAGE_TOKENS) * request.n
      return { ...none, images: request.n, pixels: pixels * request.n, input: tokensIn * request.n, output: tokensOut }
    }
    case 'video': {
      const lengths = abilities.kind === 'video' ? abilities.seconds : []
      const seconds = request.seconds ?? (lengths.length > 0 ? Math.max(...lengths) : null)
      return seconds === null ? { ...none, isEndless: true } : { ...none, videoSeconds: seconds }
    }
    case 'speech': {
      const seconds = (none.characters * SECONDS_A_CHARACTER) / Math.min(1, request.speed ?? 1) + 1
      const input = Buffer.byteLength(`${request.input}${request.instructions ?? ''}`)
      return { ...none, audioSeconds: seconds, input, output: Math.ceil(seconds * SOUND_TOKENS) }
    }
    case 'transcription': {
      const seconds = Math.ceil(request.sound.durationSeconds ?? request.sound.sizeBytes / BYTES_A_SECOND)
      const input = Buffer.byteLength(request.prompt ?? '') + seconds * SOUND_TOKENS
      return { ...none, audioSeconds: seconds, input, output: seconds * SAID_TOKENS + 1_000 }
    }
  }
}

/** One token per byte of text; for images the model's input limit, if known. */
function tokensRead(text: string, { contextLength }: MediaOffer, pictures: number): number {
  const most = Buffer.byteLength(text) + pictures * IMAGE_TOKENS
  return contextLength === null ? most : Math.min(most, contextLength)
}

function mostPixels(sizes: readonly string[]): number {
  const pixelCounts = sizes.flatMap((size) => {
    const [width = NaN, height = NaN] = size.split('x').map(Number)
    return Number.isFinite(width * height) ? [width * height] : []
  })
  return pixelCounts.length === 0 ? MAX_PIXELS : Math.max(...pixelCounts)
}
