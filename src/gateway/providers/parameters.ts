import type { Offer, Shape } from '../model/offer.ts'
import { everyProvider } from './every-provider.ts'

const EVERYWHERE = ['max_tokens', 'temperature', 'top_p', 'stop']
const SAMPLING = ['seed', 'top_k', 'min_p', 'top_a', 'frequency_penalty', 'presence_penalty', 'repetition_penalty']
const OTHERS = ['logit_bias', 'logprobs', 'top_logprobs', 'n', 'prediction', 'verbosity']
const BY_CAPABILITY: Readonly<Record<string, readonly string[]>> = {
  tools: ['tools', 'tool_choice', 'parallel_tool_calls'],
  reasoning: ['reasoning', 'include_reasoning', 'reasoning_effort'],
  structured_output: ['response_format', 'structured_outputs'],
}

const PENALTIES = ['frequency_penalty', 'presence_penalty']
const LOCAL = ['min_p', 'top_a', 'repetition_penalty']
const UNKNOWN: Readonly<Partial<Record<Shape, ReadonlySet<string>>>> = {
  'openai-chat': new Set(),
  'openai-responses': new Set(['seed', 'n', 'logit_bias', 'prediction', 'top_k', ...PENALTIES, ...LOCAL]),
  'anthropic-messages': new Set(['seed', ...OTHERS, ...PENALTIES, ...LOCAL]),
  gemini: new Set(['logit_bias', 'prediction', 'verbosity', ...LOCAL]),
  ollama: new Set(['logit_bias', 'n', 'prediction', 'verbosity', 'top_k', ...LOCAL]),
}

const refusedByProvider = new Map(
  everyProvider.flatMap(({ id, refusedParameters: names }) => (names === undefined ? [] : [[id, new Set(names)]])),
)

const capabilityFor = new Map(
  Object.entries(BY_CAPABILITY).flatMap(([capability, names]) => names.map((name) => [name, capability] as const)),
)

/** True unless a list says that the offer's provider doesn't support the parameter. */
export function supportsParameter({ endpoint, capabilities }: Offer, parameter: string): boolean {
  const capability = capabilityFor.get(parameter)
  // No source used here says which models support schemas; the shapes all have a field for it.
  if (capability !== undefined && capability !== 'structured_output')
    return capabilities.length === 0 || capabilities.includes(capability)
  return !(refusedByProvider.get(endpoint.preset ?? '') ?? UNKNOWN[endpoint.shape])?.has(parameter)
}

export function parametersIn(json: Record<string, unknown>): string[] {
  const names = [...SAMPLING, ...OTHERS, ...EVERYWHERE, ...Object.values(BY_CAPABILITY).flat()]
  return names.filter((name) => json[name] !== undefined && json[name] !== null)
}

export const supportedParameters = (offer: Offer): string[] =>
  [...EVERYWHERE, ...SAMPLING, ...OTHERS, ...Object.values(BY_CAPABILITY).flat()].filter((name) => {
    const capability = capabilityFor.get(name)
    return capability === undefined ? supportsParameter(offer, name) : offer.capabilities.includes(capability)
  })
