/**
 * The catalogue of refusals: code → HTTP status and type. Clients branch on `type`, people read `message`,
 * `code` says why. Anything thrown that is not a Refusal is our fault, and a 500 that shows only the request id.
 */
const catalogue = {
  malformed_json: [400, 'invalid_request', 'The body is not well-formed JSON.'],
  invalid_parameter: [400, 'invalid_request', 'A parameter has a value that is not accepted.'],
  missing_parameter: [400, 'invalid_request', 'A required parameter is missing.'],
  unknown_parameter: [400, 'invalid_request', 'A parameter is not known here.'],
  invalid_cursor: [400, 'invalid_request', 'The cursor is not one of this list with these filters.'],
  unsupported_version: [400, 'invalid_request', 'The API version is not supported.'],
  invalid_cron: [400, 'invalid_request', 'The schedule is not a cron line that ever fires.'],
  invalid_time_zone: [400, 'invalid_request', 'The time zone is not an IANA name.'],
  invalid_pattern: [400, 'invalid_request', 'The pattern is not valid.'],
  unsupported_model: [400, 'invalid_request', 'The model cannot do what was asked.'],
  context_length_exceeded: [400, 'invalid_request', 'The input is longer than the context of the model.'],
  content_refused: [400, 'invalid_request', 'The provider refuses to make this.'],
  missing_credentials: [
    401,
    'unauthenticated',
    'Send an API key as `Authorization: Bearer uk_…` or `x-api-key`, or sign in.',
  ],
  invalid_api_key: [401, 'unauthenticated', 'The API key is not valid.'],
  expired_api_key: [401, 'unauthenticated', 'The API key has expired.'],
  revoked_api_key: [401, 'unauthenticated', 'The API key was revoked or rotated.'],
  session_expired: [401, 'unauthenticated', 'The session has ended. Sign in again.'],
  invalid_credentials: [401, 'unauthenticated', 'The e-mail address or the password is wrong.'],
  invalid_signature: [401, 'unauthenticated', 'The signature does not match.'],
  insufficient_credits: [
    402,
    'payment_required',
    'The credit balance does not cover this call. Ask the administrator for credits, or add a provider key of your own.',
  ],
  spend_cap_reached: [402, 'payment_required', 'The spend cap of this key does not cover this call.'],
  budget_reached: [402, 'payment_required', 'The budget does not cover this call.'],
  unpriced_model: [402, 'payment_required', 'The model has no known price, so it cannot run under a balance or a cap.'],
  missing_scope: [403, 'forbidden', 'The key lacks a scope that this call needs.'],
  cookie_session_required: [
    403,
    'forbidden',
    'This endpoint works only with a signed-in session, never with an API key.',
  ],
  insufficient_role: [403, 'forbidden', 'Your role in this workspace does not allow this.'],
  capability_denied: [403, 'forbidden', 'The grant does not include this capability.'],
  policy_denied: [403, 'forbidden', 'A policy of this instance does not allow this.'],
  consent_required: [
    403,
    'forbidden',
    'An agent may do this only once a person has agreed to this very call; nobody is there to be asked.',
  ],
  proof_required: [
    403,
    'forbidden',
    'Show first that it is you: by your password, or by a passkey. That is enough for 10 minutes.',
  ],
  cross_site: [403, 'forbidden', 'A call by cookie must come from the same origin, or carry `X-UK-CSRF: 1`.'],
  setup_required: [
    403,
    'forbidden',
    'This instance has no account yet: sign up with the setup token printed at start.',
  ],
  not_found: [404, 'not_found', 'It does not exist, or you have no access to it.'],
  method_not_allowed: [405, 'method_not_allowed', 'This path does not take this method.'],
  pair_from_machine: [
    405,
    'method_not_allowed',
    'Computers are paired from the machine itself: run `uk computer pair` on it.',
  ],
  stale_update: [409, 'conflict', 'It was changed meanwhile.'],
  already_exists: [409, 'conflict', 'There is one already.'],
  invalid_state: [409, 'conflict', 'Its present status does not allow this.'],
  chat_busy: [409, 'conflict', 'The chat has a run that is not finished.'],
  computer_offline: [409, 'conflict', 'The computer is not connected.'],
  not_supported: [409, 'conflict', 'It cannot do this.'],
  not_ready: [409, 'conflict', 'It is not ready yet.'],
  limit_reached: [409, 'conflict', 'The limit on how many there may be is reached.'],
  last_owner: [409, 'conflict', 'The last owner of a workspace cannot leave or be demoted.'],
  personal_workspace: [409, 'conflict', 'A personal workspace does not allow this.'],
  content_expired: [410, 'gone', 'The content is no longer kept.'],
  link_expired: [410, 'gone', 'The link has expired.'],
  invitation_expired: [410, 'gone', 'The invitation has expired or was revoked.'],
  precondition_failed: [412, 'precondition_failed', '`If-Match` does not name the present state.'],
  payload_too_large: [413, 'payload_too_large', 'The body is larger than this endpoint takes.'],
  checksum_mismatch: [
    460,
    'invalid_request',
    'The bytes are not those that the checksum names; nothing of them was kept.',
  ],
  unsupported_media_type: [415, 'unsupported_media_type', 'The content type is not one that this endpoint takes.'],
  range_not_satisfiable: [416, 'range_not_satisfiable', 'The range lies outside the content.'],
  misdirected_request: [
    421,
    'misdirected_request',
    'This host name is not served here. Set UK_PUBLIC_URL or UK_ALLOWED_HOSTS.',
  ],
  rate_limited: [429, 'rate_limited', 'Too many requests. Try again after the time in Retry-After.'],
  concurrency_limited: [429, 'rate_limited', 'Too many requests at once.'],
  internal_error: [500, 'internal_error', 'Something went wrong on our side. Quote the request id.'],
  unsupported_transfer_coding: [501, 'invalid_request', 'The body has a transfer coding that is not supported.'],
  upstream_error: [502, 'upstream_error', 'The provider failed.'],
  provider_error: [502, 'upstream_error', 'The provider failed.'],
  bad_provider_answer: [502, 'upstream_error', 'The provider answered with something that is not what was asked for.'],
  outcome_unknown: [
    502,
    'upstream_error',
    'It is not known whether the provider got the request, so it is not sent again. It counts as paid.',
  ],
  unavailable: [503, 'unavailable', 'The service cannot answer now.'],
  no_route: [503, 'unavailable', 'No provider can serve this model now.'],
  engine_not_ready: [503, 'unavailable', 'The engine is not ready.'],
  shutting_down: [503, 'unavailable', 'The server is shutting down.'],
  interrupted: [503, 'unavailable', 'The server stopped while this was running.'],
  timeout: [504, 'timeout', 'The provider took too long.'],
  storage_full: [507, 'storage_full', 'There is no room left.'],
} as const satisfies Record<string, readonly [number, string, string]>

export type Code = keyof typeof catalogue

/** An id or a name as short as ids are; what is longer may be a key or a token, which is not repeated. */
const SAYABLE = /^[\w.@-]{1,32}$/

/** The message of a 404 for what a call names: a stranger is not told whether it is there. */
export const absent = (thing: string, id = ''): string =>
  `The ${thing}${SAYABLE.test(id) ? ` \`${id}\`` : ''} does not exist, or you have no access to it.`

export interface RefusalMore {
  /** Says what is wrong and what would be right. Default: the catalogue's sentence. */
  message?: string
  /** The field of the input that is at fault, as `a.b.0`. */
  param?: string
  details?: Record<string, unknown>
  /** Response headers that belong to the refusal, such as `retry-after`. */
  headers?: Record<string, string>
  /** The same with what is for the payer alone, where others read this one too. */
  toPayer?: Refusal
}

/** A refusal that the caller can act on. */
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

/** The REST error object; absent fields are left out, and the code of a 429 is always there (contract, part 3). */
export function errorBody(refusal: Refusal): ErrorBody {
  const error: ErrorBody['error'] = { type: refusal.type, message: refusal.message }
  if (refusal.code !== refusal.type || refusal.status === 429) error.code = refusal.code
  if (refusal.param !== undefined) error.param = refusal.param
  if (refusal.details !== undefined) error.details = refusal.details
  return { error }
}

/** Status and type of a code, for the description. */
export const describeCode = (code: Code): { status: number; type: string; message: string } => {
  const [status, type, message] = catalogue[code]
  return { status, type, message }
}
export const codes = Object.keys(catalogue) as Code[]
