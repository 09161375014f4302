import { isConverse } from './transport/bedrock.ts'
import type { Offer, ProviderEndpoint, Shape } from '../model/offer.ts'
import { ANTHROPIC_FORMAT } from '../wire/anthropic-messages/signature.ts'
import { GEMINI_FORMAT } from '../wire/gemini/signature.ts'
import { RESPONSES_FORMAT } from '../wire/openai-responses/sealed.ts'

/** Providers that serve all their models in both of OpenAI's shapes, under one address. */
const both: ReadonlySet<string> = new Set(['openai', 'xai'])

/** Whether bytes of this shape can be sent to the endpoint as they are. */
export function supportsShape({ shape: own, preset }: ProviderEndpoint, shape: Shape): boolean {
  if (own === shape) return true
  const openai = (one: Shape): boolean => one === 'openai-chat' || one === 'openai-responses'
  return preset !== null && both.has(preset) && openai(own) && openai(shape)
}

/** Whether it is one of Bedrock's models that are reached by Converse only. */
export const usesConverse = ({ endpoint: { preset, shape }, upstreamModel }: Offer): boolean =>
  preset === 'bedrock' && shape === 'anthropic-messages' && isConverse(upstreamModel)

/** By whose habits an endpoint is asked: who speaks Ollama's shape is one, whatever it was made from. */
export const vendorOf = ({ preset, shape }: ProviderEndpoint): string | null => (shape === 'ollama' ? 'ollama' : preset)

const byShape: Partial<Record<Shape, string>> = {
  'anthropic-messages': ANTHROPIC_FORMAT,
  gemini: GEMINI_FORMAT,
  'openai-responses': RESPONSES_FORMAT,
}
/** Whose models a provider that relays names so. */
const byAuthor: Readonly<Record<string, string>> = {
  anthropic: ANTHROPIC_FORMAT,
  google: GEMINI_FORMAT,
  openai: RESPONSES_FORMAT,
}

/** In whose format the thoughts of an answer are; `unknown`: nobody knows. */
export const formatOf = ({ endpoint: { preset, shape }, upstreamModel }: Offer): string =>
  byShape[shape] ?? (preset === 'openrouter' ? byAuthor[upstreamModel.split('/')[0]!] : undefined) ?? 'unknown'
