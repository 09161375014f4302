import type { IncomingHttpHeaders } from 'node:http'
import type { Dialect } from './dialects/dialect.ts'
import type { Upstream } from './upstream.ts'

/** The headers of a request to a provider: the endpoint's own, and of the client's those that mean something there. */
export function travellingHeaders(
  given: IncomingHttpHeaders,
  { headers: fixed, names }: Upstream,
  dialect: Dialect,
  ownKey: boolean,
): string[] {
  const headers = [...fixed]
  const take = (name: string): void => {
    const value = given[name]
    if (value !== undefined && !names.has(name)) headers.push(name, String(value))
  }
  for (const name of dialect.travelling) take(name)
  if (ownKey) for (const name of dialect.travellingOnOwnKey) take(name)
  if (
    dialect.shape === 'anthropic-messages' &&
    given['anthropic-version'] === undefined &&
    !names.has('anthropic-version')
  )
    headers.push('anthropic-version', '2023-06-01')
  return headers
}

/** The query of a request as it travels on: all of it but parameters that may carry the caller's key. */
export function travellingQuery(url: string): string {
  const mark = url.indexOf('?')
  if (mark < 0) return ''
  const kept = url
    .slice(mark + 1)
    .split('&')
    .filter((pair) => pair !== '' && !/key|token|secret|auth|uk_/i.test(pair))
  return kept.length === 0 ? '' : `?${kept.join('&')}`
}
