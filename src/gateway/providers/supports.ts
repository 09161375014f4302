import type { Body } from '../model/body.ts'
import type { Offer, ProviderEndpoint, Shape } from '../model/offer.ts'
import { ANTHROPIC_FORMAT } from '../wire/anthropic-messages/signature.ts'
import { GEMINI_FORMAT } from '../wire/gemini/signature.ts'
import { holdsReasoning } from '../wire/openai-chat/quirks.ts'
import { RESPONSES_FORMAT } from '../wire/openai-responses/sealed.ts'
import { everyProvider, idsWhere, providerOf } from './every-provider.ts'
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

const vendorOf = ({ preset, shape }: Made): string | null => (shape === ollama.shape ? ollama.id : preset)

/** By whose habits an endpoint is asked: who speaks Ollama's shape is one, whatever it was made from. Null: nobody knows. */
export const habitsOf = (endpoint: Made): Provider | null => providerOf(vendorOf(endpoint))

const relaying = idsWhere((provider) => provider.relays)

/** A provider that routes among further providers itself, and is told the caller's constraints. */
export const relays = ({ endpoint }: { endpoint: Pick<ProviderEndpoint, 'preset'> }): boolean =>
  relaying.has(endpoint.preset)

const silent = idsWhere(({ chat }) => chat?.some(({ streamOptions }) => streamOptions === false))

/** Whether a stream may be asked what it used. */
export const takesStreamOptions = (endpoint: Made): boolean => !silent.has(vendorOf(endpoint))

/** These refuse any field of a message that they do not know. */
const averse = idsWhere(({ chat }) => chat?.some(({ refusesReasoning }) => refusesReasoning))

/** Whether the provider would refuse these messages of a client, because of reasoning that it sends back. */
export const refusesHistory = (endpoint: Made, body: Body): boolean =>
  averse.has(vendorOf(endpoint)) && holdsReasoning(body)

const ownMarks = idsWhere((provider) => provider.cacheBreakpoints)

/** The fate of marks for a cache, as OpenRouter's clients write them: sent on, in OpenAI's own word, or refused with the request. */
export type Marks = 'kept' | 'breakpoints' | 'refused'

export function marksFor(endpoint: Made): Marks {
  const vendor = vendorOf(endpoint)
  return ownMarks.has(vendor) ? 'breakpoints' : averse.has(vendor) ? 'refused' : 'kept'
}

const reporting = idsWhere(({ reportsCost }) => reportsCost === true)

/** The cost that an answer states, in USD, where its provider is known to state one. */
export const reportedBy = ({ preset }: Pick<ProviderEndpoint, 'preset'>, usd: number | undefined): number | undefined =>
  reporting.has(preset) ? usd : undefined

const byShape: Partial<Record<Shape, string>> = {
  'anthropic-messages': ANTHROPIC_FORMAT,
  gemini: GEMINI_FORMAT,
  'openai-responses': RESPONSES_FORMAT,
}

/** In whose format the thoughts of an answer are; `unknown`: nobody knows. */
export const formatOf = ({ endpoint: { preset, shape }, upstreamModel }: Offer): string =>
  byShape[shape] ?? providerOf(preset)?.thoughtsOf?.(upstreamModel) ?? 'unknown'
