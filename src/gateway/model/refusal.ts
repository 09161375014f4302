import { type Code, Refusal } from '#core/errors.ts'
import { storable } from '#core/text/storable.ts'
import type { UpstreamFault } from './canonical-request.ts'

const codes: Record<UpstreamFault['kind'], Code> = {
  bad_request: 'invalid_parameter',
  context_length: 'context_length_exceeded',
  upstream_key: 'provider_error',
  upstream_payment: 'provider_error',
  model_not_found: 'provider_error',
  too_large: 'payload_too_large',
  rate_limited: 'rate_limited',
  overloaded: 'unavailable',
  server_error: 'provider_error',
  timeout: 'timeout',
  unreachable: 'provider_error',
  garbage: 'provider_error',
  withdrawn: 'no_route',
}

export function refusalOf({ kind, message, retry_after_seconds: seconds }: UpstreamFault): Refusal {
  return new Refusal(codes[kind], {
    message: storable(message),
    ...(seconds !== undefined && { headers: { 'retry-after': String(Math.ceil(seconds)) } }),
  })
}
