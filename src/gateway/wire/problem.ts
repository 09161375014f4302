import { storageFault } from '#infra/postgres/faults.ts'
import { type Code, Refusal } from '#core/errors.ts'
import { passes } from '../model/fault-rules.ts'
import type { UpstreamFault } from '../model/canonical-request.ts'

/** compat.md, part 6. */
export type ProblemKind =
  | 'bad_request'
  | 'context_length'
  | 'platform_key'
  | 'budget'
  | 'forbidden'
  | 'model_not_found'
  | 'not_found'
  | 'conflict'
  | 'too_large'
  | 'unknown_coding'
  | 'rate_limited'
  | 'providers_limited'
  | 'no_provider'
  | 'provider_failed'
  | 'overloaded'
  | 'timeout'
  | 'internal'

export interface Problem {
  kind: ProblemKind
  message: string
  code: string
  param: string | null
  headers: Record<string, string>
  details: Record<string, unknown> | null
}

/** SDK retries read `headers`. */
export interface ErrorAnswer {
  status: number
  headers: Record<string, string>
  body: object
}

const byRefusalStatus: Record<number, ProblemKind> = {
  400: 'bad_request',
  401: 'platform_key',
  402: 'budget',
  403: 'forbidden',
  404: 'not_found',
  409: 'conflict',
  412: 'bad_request',
  413: 'too_large',
  415: 'bad_request',
  429: 'rate_limited',
  501: 'unknown_coding',
  502: 'provider_failed',
  503: 'overloaded',
  504: 'timeout',
}

const byFault: Record<UpstreamFault['kind'], ProblemKind> = {
  bad_request: 'bad_request',
  context_length: 'context_length',
  // The caller's key for this gateway was valid: a 401 or 402 would mislead them.
  upstream_key: 'provider_failed',
  upstream_payment: 'provider_failed',
  model_not_found: 'model_not_found',
  too_large: 'too_large',
  rate_limited: 'providers_limited',
  overloaded: 'overloaded',
  server_error: 'provider_failed',
  timeout: 'timeout',
  unreachable: 'provider_failed',
  garbage: 'provider_failed',
  withdrawn: 'provider_failed',
}

/** For rejected requests: the vendor's moderation, and resources that don't exist there. */
const byStatus: Readonly<Record<number, ProblemKind>> = { 403: 'forbidden', 404: 'not_found' }

export function problemOf(failure: Refusal | UpstreamFault | unknown): Problem {
  if (failure instanceof Refusal) {
    const { code, status, message, param = null, details = null } = failure
    if (status === 500) return internal
    const headers = { ...(lasts(failure) && neverAgain), ...failure.headers }
    return { kind: kindOfRefusal(failure), message, code, param, headers, details }
  }
  if (!isFault(failure)) {
    const storageProblem = storageFault(failure)
    return storageProblem === null ? internal : problemOf(storageProblem)
  }
  const { kind, message, retry_after_seconds: seconds } = failure
  const headers: Record<string, string> = {
    ...(!passes(failure) && neverAgain),
    ...(seconds !== undefined && { 'retry-after': String(Math.ceil(seconds)) }),
  }
  return {
    kind: (kind === 'bad_request' && byStatus[failure.status ?? 0]) || byFault[kind],
    message,
    code: failure.code ?? kind,
    param: failure.param ?? null,
    headers,
    details: {
      ...(failure.provider !== undefined && { provider: failure.provider, previous: failure.previous ?? [] }),
      ...(failure.details !== undefined && { vendor: failure.details }),
    },
  }
}

/** SDKs check this header before the status; without it they would retry 409, 429, and 5xx. */
const neverAgain = { 'x-should-retry': 'false' }

const temporaryTypes: ReadonlySet<string> = new Set(['rate_limited', 'upstream_error', 'unavailable', 'timeout'])
const odd: Partial<Record<Code, 'passes' | 'lasts'>> = {
  chat_busy: 'passes',
  computer_offline: 'passes',
  not_ready: 'passes',
  no_route: 'lasts',
  // Already paid for: a retry would be billed again, so it must be the caller's own decision.
  bad_provider_answer: 'lasts',
  outcome_unknown: 'lasts',
}

const lasts = ({ code, type }: Refusal): boolean =>
  (odd[code] ?? (temporaryTypes.has(type) ? 'passes' : 'lasts')) === 'lasts'

function kindOfRefusal({ code, status, param }: Refusal): ProblemKind {
  if (code === 'context_length_exceeded') return 'context_length'
  if (code === 'no_route') return 'no_provider'
  if (code === 'not_found' && param === 'model') return 'model_not_found'
  return byRefusalStatus[status] ?? (status < 500 ? 'bad_request' : 'internal')
}

const isFault = (failure: unknown): failure is UpstreamFault =>
  typeof failure === 'object' &&
  failure !== null &&
  'kind' in failure &&
  typeof failure.kind === 'string' &&
  Object.hasOwn(byFault, failure.kind)

const internal: Problem = {
  kind: 'internal',
  message: 'Something went wrong on our side. If you report it, include the request ID.',
  code: 'internal_error',
  param: null,
  headers: {},
  details: null,
}
