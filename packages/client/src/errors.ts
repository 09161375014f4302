/** The error object of an answer: `{ "error": { "type", "message", "code"?, "param"?, "details"? } }`. */
export interface ErrorBody {
  type?: string
  message?: string
  code?: string
  param?: string
  details?: Record<string, unknown>
}

/** A call that the server refused, or failed at. `type` says what it is, `code` why, `requestId` is what to quote. */
export class ApiError extends Error {
  override name = 'ApiError'
  readonly status: number
  readonly type: string
  readonly code: string | undefined
  /** The field at fault, as `a.b.0`. */
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

/** 400: a field is missing, unknown or wrong; `param` names it. */
export class InvalidRequestError extends ApiError {
  override name = 'InvalidRequestError'
}
/** 401: no credentials, or none that hold. */
export class UnauthenticatedError extends ApiError {
  override name = 'UnauthenticatedError'
}
/** 402: no credits left, or a cap reached. */
export class PaymentRequiredError extends ApiError {
  override name = 'PaymentRequiredError'
}
/** 403: a scope, a role or a policy is in the way. */
export class ForbiddenError extends ApiError {
  override name = 'ForbiddenError'
}
/** 404: it does not exist, or you have no access to it. */
export class NotFoundError extends ApiError {
  override name = 'NotFoundError'
}
/** 409: its present state, or another one of the same name, is in the way. */
export class ConflictError extends ApiError {
  override name = 'ConflictError'
}
/** 410: it was there and is not any more. */
export class GoneError extends ApiError {
  override name = 'GoneError'
}
/** 413: more bytes than are taken. */
export class TooLargeError extends ApiError {
  override name = 'TooLargeError'
}
/** 429: too many calls; `retryAfterSeconds` says when to try again. */
export class RateLimitedError extends ApiError {
  override name = 'RateLimitedError'
}
/** 5xx: the server, or a provider behind it, could not do it. */
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

/** The error that an answer which is not 2xx tells of. */
export async function errorOf(response: Response): Promise<ApiError> {
  const Class = CLASSES[response.status] ?? (response.status >= 500 ? ServerError : ApiError)
  return new Class(response.status, response.headers, bodyOf(await response.text()))
}

/** What came is no error of ours where a proxy on the way answered. */
function bodyOf(text: string): ErrorBody {
  try {
    return (JSON.parse(text) as { error?: ErrorBody }).error ?? {}
  } catch {
    return {}
  }
}

/** The server could not be reached, or the line was cut before it answered; `cause` says why. */
export class ConnectionError extends Error {
  override name = 'ConnectionError'
}
