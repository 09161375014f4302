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

type Made = Pick<ProviderEndpoint, 'preset' | 'shape'>

const both = idsWhere((provider) => provider.bothOpenaiShapes)
const isOpenai = (shape: Shape): boolean => shape === 'openai-chat' || shape === 'openai-responses'

/** Whether bytes of this shape can be sent to the endpoint as they are. */
export function supportsShape({ shape: own, preset }: Made, shape: Shape): boolean {
  if (own === shape) return true
  return both.has(preset) && isOpenai(own) && isOpenai(shape)
}

const converses = new Map(everyProvider.map(({ id, converses: asks }) => [id, asks]))

/** Whether it is a model that is reached by Converse only. */
export const usesConverse = ({ endpoint: { preset, shape }, upstreamModel }: Offer): boolean =>
  shape === 'anthropic-messages' && preset !== null && converses.get(preset)?.(upstreamModel) === true

const vendors = new Set(mediaProviders.map(({ id }) => id))

/** The shape of a vendor of media bears its name: nobody else speaks it. */
const vendorOf = ({ preset, shape }: Made): string | null =>
  shape === ollama.shape ? ollama.id : (preset ?? (vendors.has(shape) ? shape : null))

/**
 * The provider whose habits an endpoint has: one that speaks Ollama's shape is an Ollama, whatever preset it was made
 * from. Null: not known.
 */
export const quirksOwner = (endpoint: Made): Provider | null => providerOf(vendorOf(endpoint))

const relaying = idsWhere((provider) => provider.relays)

/** A provider that routes among further providers itself, and is told the caller's constraints. */
export const isAggregator = ({ endpoint }: { endpoint: Pick<ProviderEndpoint, 'preset'> }): boolean =>
  relaying.has(endpoint.preset)

const silent = idsWhere(({ chat }) => chat?.some(({ streamOptions }) => streamOptions === false))

/** Whether a stream may be asked what it used. */
export const takesStreamOptions = (endpoint: Made): boolean => !silent.has(vendorOf(endpoint))

/** Providers that refuse a message with any field that they do not know. */
const averse = idsWhere(({ chat }) => chat?.some(({ refusesReasoning }) => refusesReasoning))

/** Whether the provider would refuse these messages of a client, because of reasoning that it sends back. */
export const refusesHistory = (endpoint: Made, body: Body): boolean =>
  averse.has(vendorOf(endpoint)) && holdsReasoning(body)

const ownMarks = idsWhere((provider) => provider.cacheBreakpoints)

/** The fate of marks for a cache, as OpenRouter's clients write them: sent on, in OpenAI's own word, or refused with the request. */
export type CacheMarkSupport = 'kept' | 'breakpoints' | 'refused'

export function cacheMarkSupport(endpoint: Made): CacheMarkSupport {
  const vendor = vendorOf(endpoint)
  return ownMarks.has(vendor) ? 'breakpoints' : averse.has(vendor) ? 'refused' : 'kept'
}

const reporting = idsWhere(({ reportsCost }) => reportsCost === true)

/** The cost that an answer states, in USD, where its provider is known to state one. */
export const reportedBy = ({ preset }: Pick<ProviderEndpoint, 'preset'>, usd: number | undefined): number | undefined =>
  reporting.has(preset) ? usd : undefined

const vendorOfShape: Readonly<Partial<Record<Shape, Provider>>> = {
  'openai-chat': openai,
  'openai-responses': openai,
  'anthropic-messages': anthropic,
  gemini: google,
  ollama,
}

/** Names of fields that choose a price at any provider. */
const priceFields = [...new Set(everyProvider.flatMap(({ plainPrices = {} }) => Object.keys(plainPrices)))]
/** Names of fields that choose a price or another model at any provider. */
export const priceNames: readonly string[] = [
  ...new Set([...priceFields, ...everyProvider.flatMap(({ pricedApart = [] }) => pricedApart)]),
]
/** Fields of a vendor that the endpoint is not known to be may mean there what they mean at that vendor. */
const anybodysPrices = Object.assign({}, ...everyProvider.map(({ plainPrices = {} }) => plainPrices)) as Record<
  string,
  readonly string[]
>

/** Fields that choose a price, each with the values that cost no more there than the model's price says. */
export function* plainPricesOf({ preset, shape }: Made): Generator<[field: string, words: readonly string[]]> {
  for (const field of priceFields)
    yield [
      field,
      providerOf(preset)?.plainPrices?.[field] ?? vendorOfShape[shape]?.plainPrices?.[field] ?? anybodysPrices[field]!,
    ]
}

/** Fields that cost there what another model, or something else, costs; each with the name of the vendor whose field it is. */
export function* pricedApartBy({ preset, shape }: Made): Generator<[field: string, vendor: string]> {
  const own = providerOf(preset)
  for (const vendor of new Set([own ?? vendorOfShape[shape], vendorOfShape[shape]]))
    for (const field of vendor?.pricedApart ?? []) yield [field, vendor!.name]
}

const byShape: Partial<Record<Shape, string>> = {
  'anthropic-messages': ANTHROPIC_FORMAT,
  gemini: GEMINI_FORMAT,
  'openai-responses': RESPONSES_FORMAT,
}

/** The format of an answer's thoughts; `unknown`: not known. */
export const formatOf = ({ endpoint: { preset, shape }, upstreamModel }: Offer): string =>
  byShape[shape] ?? providerOf(preset)?.thoughtsOf?.(upstreamModel) ?? 'unknown'
