import { type ErrorAnswer, type Problem, type ProblemKind, problemOf } from '../../problem.ts'
import { compact, isObject, type Json, listOf } from '../../../model/json.ts'

export type ChatSurface = 'compat-a' | 'compat-c'

interface Row {
  a: readonly [status: number, type: string, code: string | null]
  c: readonly [status: number, errorType: string]
}

const rows: Record<ProblemKind, Row> = {
  bad_request: { a: [400, 'invalid_request_error', null], c: [400, 'invalid_request'] },
  context_length: { a: [400, 'invalid_request_error', 'context_length_exceeded'], c: [400, 'context_length_exceeded'] },
  platform_key: { a: [401, 'invalid_request_error', 'invalid_api_key'], c: [401, 'authentication'] },
  budget: { a: [402, 'billing_error', null], c: [402, 'payment_required'] },
  forbidden: { a: [403, 'permission_error', null], c: [403, 'permission_denied'] },
  model_not_found: { a: [404, 'invalid_request_error', 'model_not_found'], c: [400, 'invalid_request'] },
  not_found: { a: [404, 'invalid_request_error', null], c: [404, 'not_found'] },
  conflict: { a: [409, 'conflict', null], c: [409, 'invalid_request'] },
  too_large: { a: [413, 'invalid_request_error', 'request_too_large'], c: [413, 'payload_too_large'] },
  unknown_coding: { a: [501, 'invalid_request_error', null], c: [501, 'invalid_request'] },
  rate_limited: { a: [429, 'requests', 'rate_limit_exceeded'], c: [429, 'rate_limit_exceeded'] },
  providers_limited: { a: [429, 'requests', 'rate_limit_exceeded'], c: [429, 'rate_limit_exceeded'] },
  no_provider: { a: [404, 'invalid_request_error', 'model_not_found'], c: [404, 'not_found'] },
  provider_failed: { a: [502, 'server_error', 'provider_error'], c: [502, 'provider_unavailable'] },
  overloaded: { a: [503, 'server_error', 'overloaded'], c: [503, 'provider_overloaded'] },
  timeout: { a: [504, 'server_error', 'timeout'], c: [504, 'timeout'] },
  internal: { a: [500, 'server_error', 'internal_error'], c: [500, 'server'] },
}

export function writeError(failure: unknown, surface: ChatSurface): ErrorAnswer {
  const problem = problemOf(failure)
  const { a, c } = rows[problem.kind]
  return surface === 'compat-a'
    ? { status: a[0], headers: problem.headers, body: { error: errorOfA(problem) } }
    : { status: c[0], headers: problem.headers, body: { error: errorOfC(problem) } }
}

/** Also the bare frame inside a stream. */
export function errorOfA({ kind, message, code, param, details }: Problem): Json {
  const [, type, vendorCode] = rows[kind].a
  const ownCode = details?.['code']
  return { message, type, param, code: vendorCode ?? (typeof ownCode === 'string' ? ownCode : code) }
}

/** The code is the status as an integer, or strict clients fail. */
export function errorOfC(problem: Problem): Json {
  const [status, errorType] = rows[problem.kind].c
  return compact({
    code: status,
    message: problem.message,
    metadata: compact({ error_type: errorType, ...metadataOf(problem) }),
    availability: availability(problem),
  })
}

function metadataOf({ message, details }: Problem): Json {
  if (typeof details?.['provider'] !== 'string') return {}
  const previous = listOf(details['previous']).filter(isObject)
  return compact({
    provider_name: details['provider'],
    raw: message,
    previous_errors:
      previous.length === 0
        ? undefined
        : previous.map((one) => ({ code: one['status'], message: one['message'], provider_name: one['provider'] })),
  })
}

function availability({ kind, details, headers }: Problem): Json | undefined {
  const seconds = Number(headers['retry-after'])
  const about = compact({
    requested_models: Array.isArray(details?.['models']) ? details['models'] : undefined,
    excluded_by: Array.isArray(details?.['excluded']) ? details['excluded'] : undefined,
    retry_after: Number.isFinite(seconds) ? seconds : undefined,
  })
  if (kind === 'model_not_found') return { code: 'model_not_found', retryable: false, ...about }
  if (kind === 'no_provider') return { code: 'constraint_filtered', retryable: false, ...about }
  if (kind === 'providers_limited') return { code: 'capacity_exhausted', retryable: true, ...about }
  return undefined
}
