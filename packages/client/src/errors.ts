/** The error object of a response: `{ "error": { "type", "message", "code"?, "param"?, "details"? } }`. */
export interface ErrorBody {
  type?: string
  message?: string
  code?: string
  param?: string
  details?: Record<string, unknown>
}

/**
 * A request the server rejected or failed to process. `type` is the category, `code` the reason, and `requestId`
 * helps support find it.
 */
export class ApiError extends Error {
  override name = 'ApiError'
  readonly status: number
  readonly type: string
  readonly code: string | undefined
  /** The invalid field, such as `a.b.0`. */
  readonly param: string | undefined
  readonly details: Record<string, unknown> | undefined
  readonly requestId: string | null
  /** From `Retry-After`. */
  readonly retryAfterSeconds: number | null
  constructor(status: number, headers: Headers, error: ErrorBody) {
    super(error.message ?? `The server returned status ${status}.`)
    this.status = status
    this.type = error.type ?? 'internal_error'
    this.code = error.code
    this.param = error.param
    this.details = error.details
    this.requestId = headers.get('x-request-id')
    const after = Number(headers.get('retry-after') ?? NaN)
    this.retryAfterSeconds = Number.isFinite(after) ? after : null
  }
}

/** 400: a field is missing, unknown or invalid; `param` names it. */
export class InvalidRequestError extends ApiError {
  override name = 'InvalidRequestError'
}
/** 401: missing or invalid credentials. */
export class UnauthenticatedError extends ApiError {
  override name = 'UnauthenticatedError'
}
/** 402: no credits left, or a spend cap reached. */
export class PaymentRequiredError extends ApiError {
  override name = 'PaymentRequiredError'
}
/** 403: a scope, role or policy doesn't allow it. */
export class ForbiddenError extends ApiError {
  override name = 'ForbiddenError'
}
/** 404: not found, or you don't have access. */
export class NotFoundError extends ApiError {
  override name = 'NotFoundError'
}
/** 409: conflicts with the current state or with an existing name. */
export class ConflictError extends ApiError {
  override name = 'ConflictError'
}
/** 410: it was deleted or has expired. */
export class GoneError extends ApiError {
  override name = 'GoneError'
}
/** 413: the request is too large. */
export class TooLargeError extends ApiError {
  override name = 'TooLargeError'
}
/** 429: too many requests; retry after `retryAfterSeconds`. */
export class RateLimitedError extends ApiError {
  override name = 'RateLimitedError'
}
/** 5xx: the server or a provider failed. */
export class ServerError extends ApiError {
  override name = 'ServerError'
}

const CLASSES: Readonly<Record<number, typeof ApiError>> = {
  400: InvalidRequestError,
  401: UnauthenticatedError,
  402: PaymentRequiredError,
  403: ForbiddenError,
  404: NotFoundError,
  409: ConflictError,
  410: GoneError,
  413: TooLargeError,
  429: RateLimitedError,
}

/** Creates the error for a response outside 2xx. */
export async function errorOf(response: Response): Promise<ApiError> {
  const Class = CLASSES[response.status] ?? (response.status >= 500 ? ServerError : ApiError)
  return new Class(response.status, response.headers, bodyOf(await response.text()))
}

/** Returns an empty body if a proxy on the way answered. */
function bodyOf(text: string): ErrorBody {
  try {
    return (JSON.parse(text) as { error?: ErrorBody }).error ?? {}
  } catch {
    return {}
  }
}

/** The server couldn't be reached, or the connection was lost before it answered; see `cause`. */
export class ConnectionError extends Error {
  override name = 'ConnectionError'
}
