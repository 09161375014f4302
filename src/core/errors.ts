/**
 * Error code → HTTP status and type. Clients branch on `type`, people read `message`, `code` gives the reason. Any
 * other thrown error becomes a 500 that shows only the request ID.
 */
const catalogue = {
  malformed_json: [400, 'invalid_request', 'The request body isn’t valid JSON.'],
  invalid_parameter: [400, 'invalid_request', 'A parameter has an invalid value.'],
  missing_parameter: [400, 'invalid_request', 'A required parameter is missing.'],
  unknown_parameter: [400, 'invalid_request', 'The request has an unknown parameter.'],
  invalid_cursor: [
    400,
    'invalid_request',
    'The cursor doesn’t belong to this list and these filters. Start again without `cursor`.',
  ],
  unsupported_version: [400, 'invalid_request', 'This API version isn’t supported.'],
  invalid_cron: [400, 'invalid_request', 'The schedule isn’t a valid cron expression, or it never matches a date.'],
  invalid_time_zone: [400, 'invalid_request', 'The time zone must be an IANA name, such as `Europe/Berlin`.'],
  invalid_pattern: [400, 'invalid_request', 'The pattern isn’t valid.'],
  unsupported_model: [400, 'invalid_request', 'The model doesn’t support this request.'],
  context_length_exceeded: [400, 'invalid_request', 'The input is longer than the model’s context window.'],
  content_refused: [400, 'invalid_request', 'The provider refused to generate this content.'],
  missing_credentials: [
    401,
    'unauthenticated',
    'Send an API key as `Authorization: Bearer uk_…` or `x-api-key`, or sign in.',
  ],
  invalid_api_key: [401, 'unauthenticated', 'The API key isn’t valid.'],
  expired_api_key: [401, 'unauthenticated', 'The API key has expired.'],
  revoked_api_key: [401, 'unauthenticated', 'The API key was revoked or rotated.'],
  session_expired: [401, 'unauthenticated', 'The session has ended. Sign in again.'],
  invalid_credentials: [401, 'unauthenticated', 'The email address or password is wrong.'],
  invalid_signature: [401, 'unauthenticated', 'The signature doesn’t match.'],
  insufficient_credits: [
    402,
    'payment_required',
    'Your credit balance doesn’t cover this request. Ask an administrator for credits, or add your own provider key.',
  ],
  spend_cap_reached: [402, 'payment_required', 'The key’s spend cap doesn’t cover this request.'],
  budget_reached: [402, 'payment_required', 'The budget doesn’t cover this request.'],
  unpriced_model: [
    402,
    'payment_required',
    'The model has no known price, so it can’t be used with a credit balance or a spend cap.',
  ],
  missing_scope: [403, 'forbidden', 'The key is missing a scope that this request requires.'],
  cookie_session_required: [403, 'forbidden', 'This endpoint requires a signed-in session. API keys aren’t accepted.'],
  insufficient_role: [403, 'forbidden', 'Your role in this workspace doesn’t allow this.'],
  capability_denied: [403, 'forbidden', 'The grant doesn’t include this capability.'],
  policy_denied: [403, 'forbidden', 'A policy of this instance doesn’t allow this.'],
  consent_required: [
    403,
    'forbidden',
    'An agent needs a person’s approval for this request, and no one is available to give it.',
  ],
  proof_required: [
    403,
    'forbidden',
    'Confirm your identity first, with your password or a passkey. A confirmation lasts 10 minutes.',
  ],
  cross_site: [
    403,
    'forbidden',
    'Requests authenticated by cookie must come from the same origin or include `X-UK-CSRF: 1`.',
  ],
  setup_required: [
    403,
    'forbidden',
    'This instance has no accounts yet. Sign up with the setup token printed when the server started.',
  ],
  not_found: [404, 'not_found', 'Not found, or you don’t have access.'],
  method_not_allowed: [405, 'method_not_allowed', 'This path doesn’t support this method.'],
  pair_from_machine: [
    405,
    'method_not_allowed',
    'Computers are paired from the computer itself. Run `uk computer pair` on it.',
  ],
  stale_update: [409, 'conflict', 'The resource was changed in the meantime. Read it again, then retry.'],
  already_exists: [409, 'conflict', 'It already exists.'],
  invalid_state: [409, 'conflict', 'Its current status doesn’t allow this.'],
  chat_busy: [409, 'conflict', 'The chat already has an active run.'],
  computer_offline: [409, 'conflict', 'The computer is not connected.'],
  not_supported: [409, 'conflict', 'This isn’t supported.'],
  not_ready: [409, 'conflict', 'It isn’t ready yet. Try again later.'],
  limit_reached: [409, 'conflict', 'You reached the limit. Remove one before you add another.'],
  last_owner: [
    409,
    'conflict',
    'The last owner of a workspace can’t leave or be demoted. Make another member an owner first.',
  ],
  personal_workspace: [409, 'conflict', 'This isn’t possible in a personal workspace.'],
  content_expired: [410, 'gone', 'The content has expired and was deleted.'],
  link_expired: [410, 'gone', 'The link has expired.'],
  invitation_expired: [410, 'gone', 'The invitation has expired or was revoked.'],
  precondition_failed: [412, 'precondition_failed', 'The resource’s current ETag doesn’t match `If-Match`.'],
  payload_too_large: [413, 'payload_too_large', 'The request body is too large for this endpoint.'],
  checksum_mismatch: [
    460,
    'invalid_request',
    'The checksum doesn’t match the uploaded bytes. The bytes were discarded.',
  ],
  unsupported_media_type: [415, 'unsupported_media_type', 'This endpoint doesn’t accept this content type.'],
  range_not_satisfiable: [416, 'range_not_satisfiable', 'The range is outside the content.'],
  misdirected_request: [
    421,
    'misdirected_request',
    'This host name isn’t configured. Add it to UK_PUBLIC_URL or UK_ALLOWED_HOSTS.',
  ],
  rate_limited: [429, 'rate_limited', 'Too many requests. Retry after the number of seconds in `Retry-After`.'],
  concurrency_limited: [429, 'rate_limited', 'Too many concurrent requests.'],
  internal_error: [
    500,
    'internal_error',
    'Something went wrong on our side. If you report it, include the request ID.',
  ],
  unsupported_transfer_coding: [501, 'invalid_request', 'The body’s transfer coding isn’t supported.'],
  upstream_error: [502, 'upstream_error', 'The provider failed.'],
  provider_error: [502, 'upstream_error', 'The provider failed.'],
  bad_provider_answer: [502, 'upstream_error', 'The provider returned a response that doesn’t match the request.'],
  outcome_unknown: [
    502,
    'upstream_error',
    'The connection to the provider failed before it confirmed the request. It isn’t retried, and it’s counted as billed.',
  ],
  unavailable: [503, 'unavailable', 'The service is unavailable. Try again later.'],
  no_route: [503, 'unavailable', 'No provider can serve this model right now.'],
  engine_not_ready: [503, 'unavailable', 'The engine isn’t ready. Try again later.'],
  shutting_down: [503, 'unavailable', 'The server is shutting down.'],
  interrupted: [503, 'unavailable', 'The server stopped while this was running.'],
  timeout: [504, 'timeout', 'The provider took too long to respond.'],
  storage_full: [507, 'storage_full', 'There is no storage space left.'],
} as const satisfies Record<string, readonly [number, string, string]>

export type Code = keyof typeof catalogue

/** An ID or short name. Longer values could be a key or token and aren't repeated in messages. */
const SAYABLE = /^[\w.@-]{1,32}$/

export const absent = (thing: string, id = ''): string =>
  `The ${thing}${SAYABLE.test(id) ? ` \`${id}\`` : ''} doesn’t exist, or you don’t have access to it.`

export interface RefusalMore {
  message?: string
  /** The invalid input field, such as `a.b.0`. */
  param?: string
  details?: Record<string, unknown>
  headers?: Record<string, string>
  /** The same refusal with details only the payer may see. */
  toPayer?: Refusal
}

export class Refusal extends Error {
  override name = 'Refusal'
  readonly code: Code
  readonly status: number
  readonly type: string
  readonly param: string | undefined
  readonly details: Record<string, unknown> | undefined
  readonly headers: Record<string, string> | undefined
  readonly toPayer: Refusal | undefined
  constructor(code: Code, more: RefusalMore = {}) {
    const [status, type, sentence] = catalogue[code]
    super(more.message ?? sentence)
    this.code = code
    this.status = status
    this.type = type
    this.param = more.param
    this.details = more.details
    this.headers = more.headers
    this.toPayer = more.toPayer
  }
}

export function refuse(code: Code, more?: RefusalMore): never {
  throw new Refusal(code, more)
}

export interface ErrorBody {
  error: { type: string; message: string; code?: string; param?: string; details?: Record<string, unknown> }
}

/** The REST error object. Absent fields are omitted; a 429 always has a code (contract, part 3). */
export function errorBody(refusal: Refusal): ErrorBody {
  const error: ErrorBody['error'] = { type: refusal.type, message: refusal.message }
  if (refusal.code !== refusal.type || refusal.status === 429) error.code = refusal.code
  if (refusal.param !== undefined) error.param = refusal.param
  if (refusal.details !== undefined) error.details = refusal.details
  return { error }
}

export const describeCode = (code: Code): { status: number; type: string; message: string } => {
  const [status, type, message] = catalogue[code]
  return { status, type, message }
}
export const codes = Object.keys(catalogue) as Code[]
