import { Refusal } from '#core/errors.ts'
import { providerOf } from './every-provider.ts'
import { type Transport, ENDPOINT_SETTING } from './transport/transport.ts'
import { credentialOf } from './transport/credential.ts'
import type { Dispatch, ProviderEndpoint, Shape } from '../model/offer.ts'

export interface Upstream {
  origin: string
  base: string
  /** Name, value, …, including the key. */
  headers: readonly string[]
  names: ReadonlySet<string>
  mayBePrivate: boolean
  credential: string
  transport: Transport | null
  dispatch: Dispatch | null
}

const upstreams = new WeakMap<ProviderEndpoint, Upstream>()

export function upstreamOf(endpoint: ProviderEndpoint): Upstream {
  const before = upstreams.get(endpoint)
  if (before) return before
  const upstream = readUpstream(endpoint)
  upstreams.set(endpoint, upstream)
  return upstream
}

function readUpstream(endpoint: ProviderEndpoint): Upstream {
  const { baseUrl, shape, apiKey, headers: own, mayBePrivate, preset, slug } = endpoint
  const url = URL.parse(baseUrl)
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new Refusal('provider_error', { message: `The URL of ${slug} must start with http:// or https://.` })
  const path = url.pathname.replace(/\/+$/, '')
  const headers = new Map([
    ['content-type', 'application/json'],
    ['accept-encoding', 'identity'],
  ])
  const base = basePath(shape, path)
  const provider = providerOf(preset)
  const keyHeader = provider?.keyHeader
  if (apiKey !== null && keyHeader !== null) {
    const { name, before } = keyHeader === undefined ? keyHeaderOf(shape) : { name: keyHeader, before: '' }
    headers.set(name, before + apiKey)
  }
  for (const name in own) if (!ENDPOINT_SETTING.test(name.toLowerCase())) headers.set(name.toLowerCase(), own[name]!)
  return {
    origin: url.origin,
    base,
    headers: [...headers].flat(),
    names: new Set(headers.keys()),
    mayBePrivate,
    credential: credentialOf(endpoint),
    transport: provider?.transport?.(endpoint, base) ?? null,
    dispatch: endpoint.dispatch ?? null,
  }
}

interface KeyHeader {
  name: string
  before: string
}

const keyHeaders: Partial<Record<Shape, KeyHeader>> = {
  'anthropic-messages': { name: 'x-api-key', before: '' },
  gemini: { name: 'x-goog-api-key', before: '' },
  // `@ai-sdk/elevenlabs` 3.0.46, elevenlabs-provider.ts.
  elevenlabs: { name: 'xi-api-key', before: '' },
  // `@ai-sdk/deepgram` 3.1.16, deepgram-provider.ts.
  deepgram: { name: 'authorization', before: 'Token ' },
  // `@ai-sdk/fal` 3.0.41, fal-provider.ts.
  fal: { name: 'authorization', before: 'Key ' },
  // `@ai-sdk/black-forest-labs` 2.0.41, black-forest-labs-provider.ts.
  'black-forest-labs': { name: 'x-key', before: '' },
}

const keyHeaderOf = (shape: Shape): KeyHeader => keyHeaders[shape] ?? { name: 'authorization', before: 'Bearer ' }

/**
 * The base of the OpenAI shapes includes the version segment; Anthropic's and Ollama's doesn't, but a trailing one is
 * tolerated.
 */
function basePath(shape: Shape, path: string): string {
  if (shape === 'anthropic-messages') return path.replace(/\/v1$/, '')
  if (shape === 'ollama') return `${path.replace(/\/v1$/, '')}/v1`
  return path
}
