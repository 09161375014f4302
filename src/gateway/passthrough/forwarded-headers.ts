import type { IncomingHttpHeaders } from 'node:http'
import type { PassthroughFormat } from './formats/format.ts'
import type { Upstream } from '../providers/upstream.ts'

/** Sets of headers that are kept for each provider: a client's user agent is the same from call to call. */
const MOST_KNOWN = 256
const known = new WeakMap<Upstream, Map<string, readonly string[]>>()

/** The headers of a request to a provider: the endpoint's own, and of the client's those that mean something there. */
export function forwardedHeaders(
  given: IncomingHttpHeaders,
  upstream: Upstream,
  format: PassthroughFormat,
  ownKey: boolean,
): readonly string[] {
  const { headers: fixed, names } = upstream
  let added = ''
  const take = (name: string): void => {
    const value = given[name]
    if (value !== undefined && !names.has(name)) added += `${name}\n${String(value)}\n`
  }
  for (const name of format.forwardedHeaders) take(name)
  if (ownKey) for (const name of format.forwardedOnOwnKey) take(name)
  if (
    format.shape === 'anthropic-messages' &&
    given['anthropic-version'] === undefined &&
    !names.has('anthropic-version')
  )
    added += 'anthropic-version\n2023-06-01\n'
  if (added === '') return fixed
  let sets = known.get(upstream)
  if (sets === undefined) known.set(upstream, (sets = new Map()))
  let set = sets.get(added)
  if (set === undefined) {
    if (sets.size >= MOST_KNOWN) sets.clear()
    sets.set(added, (set = [...fixed, ...added.slice(0, -1).split('\n')]))
  }
  return set
}

/** The query of a request as it travels on: all of it but parameters that may carry the caller's key. */
export function forwardedQuery(url: string): string {
  const mark = url.indexOf('?')
  if (mark < 0) return ''
  const kept = url
    .slice(mark + 1)
    .split('&')
    .filter((pair) => pair !== '' && !/key|token|secret|auth|uk_/i.test(pair))
  return kept.length === 0 ? '' : `?${kept.join('&')}`
}
