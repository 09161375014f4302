import type { IncomingHttpHeaders } from 'node:http'
import type { PassthroughFormat } from './formats/format.ts'
import type { Upstream } from '../providers/upstream.ts'

/** Cached header sets per provider: a client's user agent rarely changes. */
const MAX_KNOWN = 256
const headerSets = new WeakMap<Upstream, Map<string, readonly string[]>>()

export function forwardedHeaders(
  clientHeaders: IncomingHttpHeaders,
  upstream: Upstream,
  format: PassthroughFormat,
  ownKey: boolean,
): readonly string[] {
  const { headers: ownHeaders, names } = upstream
  let forwarded = ''
  const take = (name: string): void => {
    const value = clientHeaders[name]
    if (value !== undefined && !names.has(name)) forwarded += `${name}\n${String(value)}\n`
  }
  for (const name of format.forwardedHeaders) take(name)
  if (ownKey) for (const name of format.forwardedOnOwnKey) take(name)
  if (
    format.shape === 'anthropic-messages' &&
    clientHeaders['anthropic-version'] === undefined &&
    !names.has('anthropic-version')
  )
    forwarded += 'anthropic-version\n2023-06-01\n'
  if (forwarded === '') return ownHeaders
  let sets = headerSets.get(upstream)
  if (sets === undefined) headerSets.set(upstream, (sets = new Map()))
  let cached = sets.get(forwarded)
  if (cached === undefined) {
    if (sets.size >= MAX_KNOWN) sets.clear()
    sets.set(forwarded, (cached = [...ownHeaders, ...forwarded.slice(0, -1).split('\n')]))
  }
  return cached
}

/** Without parameters that may carry the caller's key. */
export function forwardedQuery(url: string): string {
  const mark = url.indexOf('?')
  if (mark < 0) return ''
  const parameters = url
    .slice(mark + 1)
    .split('&')
    .filter((pair) => pair !== '' && !/key|token|secret|auth|uk_/i.test(pair))
  return parameters.length === 0 ? '' : `?${parameters.join('&')}`
}
