import type { UpstreamFault } from '../model/canonical-request.ts'
import type { ProviderEndpoint } from '../model/offer.ts'
import { withoutKeys } from './faults/faults.ts'

/** The fault without what the endpoint keeps secret, should its provider have repeated it; our own words name the endpoint. */
export function scrub(fault: UpstreamFault, { slug, apiKey, headers }: ProviderEndpoint): UpstreamFault {
  const secrets = [apiKey, ...Object.values(headers)].filter((secret) => secret !== null && secret.length >= 6)
  const clean = (text: string): string =>
    withoutKeys(secrets.reduce<string>((left, secret) => left.replaceAll(secret!, '[key]'), text))
  let message = clean(fault.message)
  // Of a key that is not accepted nothing is said but in our own words, which know no endpoint.
  if (fault.kind === 'upstream_key') message = message.replace('this endpoint', `the endpoint \`${slug}\``)
  const { code, param, details } = fault
  if (message === fault.message && (code ?? param ?? details) === undefined) return fault
  return {
    ...fault,
    message,
    ...(code !== undefined && { code: clean(code) }),
    ...(param !== undefined && { param: clean(param) }),
    ...(details !== undefined && { details: cleaned(details, clean) as NonNullable<UpstreamFault['details']> }),
  }
}

/** All texts in a vendor's own JSON, which is short. */
function cleaned(value: unknown, clean: (text: string) => string): unknown {
  if (typeof value === 'string') return clean(value)
  if (Array.isArray(value)) return value.map((one) => cleaned(one, clean))
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, cleaned(one, clean)]))
}
