import type { IncomingMessage } from 'node:http'

export const WHOLE_MS = 600_000
const REST_MS = 60_000

export const dropSender = (request: IncomingMessage): void => {
  if (!request.complete) request.socket.destroy()
}

/** Limits how long an answered request may continue sending. The server sets no limit, because uploads take hours. */
export function boundRemainder(request: IncomingMessage): void {
  if (request.complete) return
  const timer = setTimeout(dropSender, REST_MS, request).unref()
  request.once('close', () => clearTimeout(timer))
}

/**
 * Discards the rest of an answered request's body for a limited time: the connection's next request comes after it, and
 * its reader has stopped.
 */
export function dropRemainder(request: IncomingMessage): void {
  if (request.complete) return
  request.unpipe()
  request.resume()
  boundRemainder(request)
}
