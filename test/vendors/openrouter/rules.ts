// The fields that OpenRouter adds to a chat request (compat.md 4.1, 4.2), and the endpoint that its preferences choose.
import { chatRequest } from '../openai/rules.ts'
import type { Makes } from './made.ts'
import type { Rule } from '../rules.ts'
import type { Json } from '../vendor.ts'

export type Endpoint = { slug: string; name: string }

export type OpenRouterModel = {
  id: string
  name?: string
  context?: number
  output?: number
  /** Images or audio in addition to text. */
  makes?: Makes
  /** US dollars per token, as decimal strings. */
  price?: { prompt: string; completion: string; cacheRead?: string; cacheWrite?: string }
  endpoints?: Endpoint[]
}

const strings: Rule = { kind: 'array', nullable: true, items: { kind: 'string' } }
const object: Rule = { kind: 'object', nullable: true }
const number: Rule = { kind: 'number', nullable: true }
const flag: Rule = { kind: 'boolean', nullable: true }

const provider: Rule = {
  kind: 'object',
  nullable: true,
  fields: {
    order: strings,
    only: strings,
    ignore: strings,
    quantizations: strings,
    allow_fallbacks: flag,
    require_parameters: flag,
    zdr: flag,
    enforce_distillable_text: flag,
    data_collection: { kind: 'string', nullable: true, values: ['allow', 'deny'] },
    sort: { kind: ['string', 'object'], nullable: true, values: ['price', 'throughput', 'latency', 'exacto'] },
    max_price: object,
    preferred_min_throughput: { kind: ['number', 'object'], nullable: true },
    preferred_max_latency: { kind: ['number', 'object'], nullable: true },
  },
}

const effort = ['max', 'xhigh', 'high', 'medium', 'low', 'minimal', 'none']

export const routedRequest: Rule = {
  kind: 'object',
  fields: {
    ...chatRequest.fields,
    model: { kind: 'string', nullable: true },
    models: strings,
    messages: {
      kind: 'array',
      required: true,
      minItems: 1,
      items: { kind: 'object', fields: { role: { kind: 'string', required: true } } },
    },
    modalities: { kind: 'array', nullable: true, items: { kind: 'string', values: ['text', 'image', 'audio'] } },
    image_config: object,
    provider,
    plugins: {
      kind: 'array',
      nullable: true,
      items: { kind: 'object', fields: { id: { kind: 'string', required: true } } },
    },
    reasoning: {
      kind: 'object',
      nullable: true,
      fields: {
        effort: { kind: 'string', nullable: true, values: effort },
        max_tokens: { kind: 'integer', nullable: true },
        exclude: flag,
        enabled: flag,
      },
    },
    response_format: object,
    service_tier: { kind: 'string', nullable: true },
    tools: {
      kind: 'array',
      nullable: true,
      items: { kind: 'object', fields: { type: { kind: 'string', required: true } } },
    },
    tool_choice: { kind: ['string', 'object'], nullable: true },
    transforms: strings,
    usage: object,
    session_id: { kind: 'string', nullable: true },
    top_k: number,
    min_p: number,
    top_a: number,
    repetition_penalty: number,
  },
}

/** The model's endpoint that the preferences choose, if one remains. */
export function endpointOf(model: OpenRouterModel, preferences: Json | null | undefined): Endpoint | undefined {
  const { only, ignore, order, allow_fallbacks, max_price: most } = preferences ?? {}
  const price = priceOf(model)
  if (Number(price.prompt) * 1e6 > (most?.prompt ?? Infinity)) return undefined
  if (Number(price.completion) * 1e6 > (most?.completion ?? Infinity)) return undefined
  const endpoints = endpointsOf(model)
    .filter(({ slug }) => !only || only.some((one: string) => matches(slug, one)))
    .filter(({ slug }) => !ignore?.some((one: string) => matches(slug, one)))
  const ordered = (order ?? []).flatMap((one: string) => endpoints.filter(({ slug }) => matches(slug, one)))
  if (ordered.length > 0) return ordered[0]
  return order && allow_fallbacks === false ? undefined : endpoints[0]
}

export function endpointsOf(model: OpenRouterModel): Endpoint[] {
  const author = model.id.split('/')[0] ?? 'loopback'
  return model.endpoints ?? [{ slug: author, name: author.charAt(0).toUpperCase() + author.slice(1) }]
}

export function priceOf(model: OpenRouterModel): {
  prompt: string
  completion: string
  cacheRead: string
  cacheWrite: string
} {
  return {
    prompt: '0.000003',
    completion: '0.000015',
    cacheRead: '0.0000003',
    cacheWrite: '0.00000375',
    ...model.price,
  }
}

/** `google-vertex` names all its regions; `google-vertex/us-east5` one. */
function matches(slug: string, requestedSlug: string): boolean {
  return slug === requestedSlug || slug.startsWith(`${requestedSlug}/`)
}
