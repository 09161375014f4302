import type { IncomingMessage } from 'node:http'

/** A body that is read in memory is all there after so long. */
export const WHOLE_MS = 600_000
/** The time that the rest of a body has to come once its request is answered. */
const REST_MS = 60_000

/** Drops a slow sender; called by a timer. */
export const dropSender = (request: IncomingMessage): void => {
  if (!request.complete) request.socket.destroy()
}

/** Bounds how long an answered request may go on being sent: the server itself sets no bound, for uploads take hours. */
export function boundRemainder(request: IncomingMessage): void {
  if (request.complete) return
  const timer = setTimeout(dropSender, REST_MS, request).unref()
  request.once('close', () => clearTimeout(timer))
}

/**
 * Drops what still comes of an answered request's body, for so long: the next request of its connection stands behind
 * it, and nobody else reads it, for whoever took the body has paused it or gone.
 */
export function dropRemainder(request: IncomingMessage): void {
  if (request.complete) return
  request.unpipe()
  request.resume()
  boundRemainder(request)
}
