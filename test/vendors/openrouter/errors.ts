// OpenRouter's errors: the envelope, the usual error_type of a status, and its refusals.
import type { Whole } from '../delivery/deliver.ts'
import type { Json, Refusal } from '../vendor.ts'

const kinds: Record<number, string> = {
  400: 'invalid_request',
  401: 'authentication',
  402: 'payment_required',
  403: 'permission_denied',
  404: 'not_found',
  412: 'precondition_failed',
  413: 'payload_too_large',
  422: 'unprocessable',
  429: 'rate_limit_exceeded',
  500: 'server',
  502: 'provider_unavailable',
  503: 'provider_overloaded',
  504: 'timeout',
  529: 'provider_overloaded',
}

export function problem(status: number, message?: string, type?: string, code?: string): Whole {
  const error = errorOf(status, message, type, code)
  return { status, body: { error, ...(status === 401 ? {} : { user_id: 'user_loopback' }) } }
}

export const refusals: Record<Refusal, () => Whole> = {
  key: () => problem(401, 'User not found.'),
  permission: () => problem(403, 'This key may not use this model.'),
  quota: () => problem(402, 'Insufficient credits. Add more using https://openrouter.ai/settings/credits'),
  throttle: () => ({ ...problem(429, 'Rate limit exceeded: requests per minute.'), headers: { 'retry-after': '1' } }),
}

export function errorOf(
  status: number,
  message = 'Provider returned error',
  type = kinds[status],
  code?: string,
): Json {
  const provider_code = code === undefined ? {} : { provider_code: code }
  return { code: status, message, metadata: { ...(type ? { error_type: type } : {}), ...provider_code } }
}
