import type { Body } from '../model/body.ts'
import type { Offer, ProviderEndpoint, Shape } from '../model/offer.ts'
import { ANTHROPIC_FORMAT } from '../wire/anthropic-messages/signature.ts'
import { GEMINI_FORMAT } from '../wire/parts/gemini-signature.ts'
import { holdsReasoning } from '../wire/openai-chat/quirks.ts'
import { RESPONSES_FORMAT } from '../wire/openai-responses/sealed.ts'
import { everyProvider, idsWhere, mediaProviders, providerOf } from './every-provider.ts'
import { anthropic } from './clouds/anthropic.ts'
import { google } from './clouds/google.ts'
import { openai } from './clouds/openai.ts'
import { ollama } from './local/ollama.ts'
import type { Provider } from './provider.ts'

type EndpointKind = Pick<ProviderEndpoint, 'preset' | 'shape'>

const both = idsWhere((provider) => provider.bothOpenaiShapes)
const isOpenai = (shape: Shape): boolean => shape === 'openai-chat' || shape === 'openai-responses'

export function supportsShape({ shape: own, preset }: EndpointKind, shape: Shape): boolean {
  if (own === shape) return true
  return both.has(preset) && isOpenai(own) && isOpenai(shape)
}

const converses = new Map(everyProvider.map(({ id, converses: asks }) => [id, asks]))

export const usesConverse = ({ endpoint: { preset, shape }, upstreamModel }: Offer): boolean =>
  shape === 'anthropic-messages' && preset !== null && converses.get(preset)?.(upstreamModel) === true

const vendors = new Set(mediaProviders.map(({ id }) => id))

/** The shape of a media vendor has the vendor's name: no other provider speaks it. */
const vendorOf = ({ preset, shape }: EndpointKind): string | null =>
  shape === ollama.shape ? ollama.id : (preset ?? (vendors.has(shape) ? shape : null))

/** An endpoint with Ollama's shape is Ollama, with any preset. Null: unknown. */
export const quirksOwner = (endpoint: EndpointKind): Provider | null => providerOf(vendorOf(endpoint))

const relaying = idsWhere((provider) => provider.relays)

export const isAggregator = ({ endpoint }: { endpoint: Pick<ProviderEndpoint, 'preset'> }): boolean =>
  relaying.has(endpoint.preset)

const silent = idsWhere(({ chat }) => chat?.some(({ streamOptions }) => streamOptions === false))

export const takesStreamOptions = (endpoint: EndpointKind): boolean => !silent.has(vendorOf(endpoint))

const averse = idsWhere(({ chat }) => chat?.some(({ refusesReasoning }) => refusesReasoning))

export const refusesHistory = (endpoint: EndpointKind, body: Body): boolean =>
  averse.has(vendorOf(endpoint)) && holdsReasoning(body)

const ownMarks = idsWhere((provider) => provider.cacheBreakpoints)

/** OpenRouter-style cache marks are kept, converted to OpenAI's field, or refused. */
export type CacheMarkSupport = 'kept' | 'breakpoints' | 'refused'

export function cacheMarkSupport(endpoint: EndpointKind): CacheMarkSupport {
  const vendor = vendorOf(endpoint)
  return ownMarks.has(vendor) ? 'breakpoints' : averse.has(vendor) ? 'refused' : 'kept'
}

const reporting = idsWhere(({ reportsCost }) => reportsCost === true)

export const reportedBy = ({ preset }: Pick<ProviderEndpoint, 'preset'>, usd: number | undefined): number | undefined =>
  reporting.has(preset) ? usd : undefined

const vendorOfShape: Readonly<Partial<Record<Shape, Provider>>> = {
  'openai-chat': openai,
  'openai-responses': openai,
  'anthropic-messages': anthropic,
  gemini: google,
  ollama,
}

const priceFields = [...new Set(everyProvider.flatMap(({ plainPrices = {} }) => Object.keys(plainPrices)))]
export const priceNames: readonly string[] = [
  ...new Set([...priceFields, ...everyProvider.flatMap(({ pricedApart = [] }) => pricedApart)]),
]
/** At an unknown vendor, a field may mean what it means at any known one. */
const anybodysPrices = Object.assign({}, ...everyProvider.map(({ plainPrices = {} }) => plainPrices)) as Record<
  string,
  readonly string[]
>

/** Each field with the values at or below the model's price. */
export function* plainPricesOf({ preset, shape }: EndpointKind): Generator<[field: string, words: readonly string[]]> {
  for (const field of priceFields)
    yield [
      field,
      providerOf(preset)?.plainPrices?.[field] ?? vendorOfShape[shape]?.plainPrices?.[field] ?? anybodysPrices[field]!,
    ]
}

export function* pricedApartBy({ preset, shape }: EndpointKind): Generator<[field: string, vendor: string]> {
  const own = providerOf(preset)
  for (const vendor of new Set([own ?? vendorOfShape[shape], vendorOfShape[shape]]))
    for (const field of vendor?.pricedApart ?? []) yield [field, vendor!.name]
}

const byShape: Partial<Record<Shape, string>> = {
  'anthropic-messages': ANTHROPIC_FORMAT,
  gemini: GEMINI_FORMAT,
  'openai-responses': RESPONSES_FORMAT,
}

export const formatOf = ({ endpoint: { preset, shape }, upstreamModel }: Offer): string =>
  byShape[shape] ?? providerOf(preset)?.thoughtsOf?.(upstreamModel) ?? 'unknown'
