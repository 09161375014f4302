import { Refusal } from '#kernel/errors.ts'
import type { ProviderEndpoint, Shape } from './directory.ts'

/** How a provider endpoint is called: everything about it that does not change from call to call. */
export interface Upstream {
  origin: string
  /** In front of a dialect's paths. */
  base: string
  /** Name, value, …: the key among them. They go to this origin and nowhere else. */
  headers: readonly string[]
  /** Lower-case names that a caller's own headers must not set again. */
  names: ReadonlySet<string>
  mayBePrivate: boolean
}

const known = new WeakMap<ProviderEndpoint, Upstream>()

export function upstreamOf(endpoint: ProviderEndpoint): Upstream {
  const before = known.get(endpoint)
  if (before) return before
  const upstream = read(endpoint)
  known.set(endpoint, upstream)
  return upstream
}

function read({ baseUrl, shape, apiKey, headers: own, mayBePrivate, slug }: ProviderEndpoint): Upstream {
  const url = URL.parse(baseUrl)
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new Refusal('provider_error', { message: `The address of ${slug} is not one of http or https.` })
  const path = url.pathname.replace(/\/+$/, '')
  const headers = new Map([
    ['content-type', 'application/json'],
    // Usage is read from the answer as it passes.
    ['accept-encoding', 'identity'],
  ])
  if (apiKey !== null && shape === 'anthropic-messages') headers.set('x-api-key', apiKey)
  else if (apiKey !== null && shape === 'gemini') headers.set('x-goog-api-key', apiKey)
  else if (apiKey !== null) headers.set('authorization', `Bearer ${apiKey}`)
  for (const name in own) headers.set(name.toLowerCase(), own[name]!)
  return {
    origin: url.origin,
    base: basePath(shape, path),
    headers: [...headers].flat(),
    names: new Set(headers.keys()),
    mayBePrivate,
  }
}

/** The base of the OpenAI shapes includes the version segment; Anthropic's and Ollama's does not, a trailing one is tolerated. */
function basePath(shape: Shape, path: string): string {
  if (shape === 'anthropic-messages') return path.replace(/\/v1$/, '')
  if (shape === 'ollama') return `${path.replace(/\/v1$/, '')}/v1`
  return path
}
