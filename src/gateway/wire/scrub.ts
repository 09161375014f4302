import type { UpstreamFault } from '../model/canonical-request.ts'
import type { ProviderEndpoint } from '../model/offer.ts'
import { withoutKeys } from './faults/faults.ts'

/** The provider may have repeated them. Our own messages name the endpoint. */
export function scrub(fault: UpstreamFault, { slug, apiKey, headers }: ProviderEndpoint): UpstreamFault {
  const secrets = [apiKey, ...Object.values(headers)].filter((secret) => secret !== null && secret.length >= 6)
  const clean = (text: string): string =>
    withoutKeys(secrets.reduce<string>((remainder, secret) => remainder.replaceAll(secret!, '[key]'), text))
  let message = clean(fault.message)
  // For rejected keys only our own message is shown, and it doesn't know the endpoint.
  if (fault.kind === 'upstream_key') message = message.replace('this endpoint', `the endpoint \`${slug}\``)
  const { code, param, details } = fault
  if (message === fault.message && (code ?? param ?? details) === undefined) return fault
  return {
    ...fault,
    message,
    ...(code !== undefined && { code: clean(code) }),
    ...(param !== undefined && { param: clean(param) }),
    ...(details !== undefined && { details: cleanDeep(details, clean) as NonNullable<UpstreamFault['details']> }),
  }
}

/** A vendor's error JSON is short. */
function cleanDeep(value: unknown, clean: (text: string) => string): unknown {
  if (typeof value === 'string') return clean(value)
  if (Array.isArray(value)) return value.map((one) => cleanDeep(one, clean))
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, cleanDeep(one, clean)]))
}
