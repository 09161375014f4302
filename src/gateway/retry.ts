import type { ProviderEndpoint } from './directory.ts'
import { withoutKeys } from './shapes/faults.ts'
import type { FaultKind, UpstreamFault } from './turn.ts'

/** Faults of a request, which another provider would find as well. */
const FINAL: ReadonlySet<FaultKind> = new Set(['bad_request', 'context_length', 'too_large'])

/** Whether another provider may do better. */
export const isRetryable = ({ kind }: UpstreamFault): boolean => !FINAL.has(kind)

/** The fault without what the endpoint keeps secret, should its provider have repeated it. */
export function scrub(fault: UpstreamFault, { apiKey, headers }: ProviderEndpoint): UpstreamFault {
  let { message } = fault
  for (const secret of [apiKey, ...Object.values(headers)])
    if (secret !== null && secret.length >= 6) message = message.replaceAll(secret, '[key]')
  message = withoutKeys(message)
  return message === fault.message ? fault : { ...fault, message }
}
