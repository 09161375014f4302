import { ApiError } from '#interfaces/client.ts'

export const refusal = (error: unknown): ApiError | null => (error instanceof ApiError ? error : null)

/** An error whose message is already written for people. */
export class ReadableError extends Error {}

/** Errors that some part of the page shows, with a way to retry where that may help. */
const shown = new WeakSet<object>()
export const isShown = (error: unknown): boolean => typeof error === 'object' && error !== null && shown.has(error)

/** Whether the same call may succeed later: the server was away, busy or broken. */
export const isPassing = (error: unknown): boolean => {
  const status = refusal(error)?.status ?? 503
  return status >= 500 || status === 429
}

/**
 * A sentence for people: the server's message, or that it can't be reached. `retried`: a button next to the message
 * retries the query. Without one, the page's bar offers a retry for transient errors.
 */
export function sayError(error: unknown, retried = false): string {
  if (typeof error === 'object' && error !== null && (retried || !isPassing(error))) shown.add(error)
  if (error instanceof ReadableError) return error.message
  const refused = refusal(error)
  if (!refused) return 'The server can’t be reached. Check your connection and try again.'
  // Quoting the request ID lets the operator find the failure in the server log.
  if (refused.status >= 500 && refused.requestId) return `${refused.message} Request ${refused.requestId}.`
  const wait = refused.retryAfterSeconds
  return refused.status === 429 && wait ? `${refused.message} Try again in ${wait} s.` : refused.message
}
