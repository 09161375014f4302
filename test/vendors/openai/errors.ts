// OpenAI's errors: the envelope, the usual type and code of a status, and its refusals.
import type { Whole } from '../delivery/deliver.ts'
import type { OpenAIError } from './rules.ts'
import type { Refusal } from '../vendor.ts'

export function problem({
  status,
  message,
  type = 'invalid_request_error',
  param = null,
  code = null,
}: OpenAIError): Whole {
  return { status, body: { error: { message, type, param, code } } }
}

const kinds: Record<number, [type: string, code: string | null]> = {
  401: ['invalid_request_error', 'invalid_api_key'],
  403: ['permission_error', null],
  404: ['invalid_request_error', 'model_not_found'],
  409: ['conflict', null],
  429: ['requests', 'rate_limit_exceeded'],
  529: ['overloaded_error', null],
}

export function errorOf(status: number, type?: string, code?: string): { type: string; code: string | null } {
  const [usualType, usualCode] = kinds[status] ?? [status >= 500 ? 'server_error' : 'invalid_request_error', null]
  return { type: type ?? usualType, code: code ?? usualCode }
}

export function messageFor(status: number): string {
  return status === 429 ? 'Rate limit reached for requests.' : 'The server had an error while processing your request.'
}

export const refusals: Record<Refusal, () => Whole> = {
  key: () => {
    const message =
      'Incorrect API key provided: sk-l****. You can find your API key at https://platform.openai.com/account/api-keys.'
    return problem({ status: 401, message, code: 'invalid_api_key' })
  },
  permission: () =>
    problem({
      status: 403,
      message: 'Country, region, or territory not supported',
      type: 'request_forbidden',
      code: 'unsupported_country_region_territory',
    }),
  quota: () =>
    problem({
      status: 429,
      message:
        'You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.',
      type: 'insufficient_quota',
      code: 'insufficient_quota',
    }),
  throttle: () => ({
    ...problem({
      status: 429,
      message:
        'Rate limit reached for requests per min (RPM): Limit 500, Used 500, Requested 1. Please try again in 120ms.',
      type: 'requests',
      code: 'rate_limit_exceeded',
    }),
    headers: { 'retry-after': '1', 'retry-after-ms': '120' },
  }),
}
