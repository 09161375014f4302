import type { IncomingMessage } from 'node:http'

/** `http://host:port` before the path of an absolute-form target. The form allows no user name. */
const AUTHORITY = /^https?:\/\/([^/?#@\s]+)(?=[/?#]|$)/i

/**
 * Converts an absolute-form target, as sent to proxies, to a path and `Host`. The target's host replaces the header
 * (RFC 9112, 3.2.2). Invalid targets are left for the router to refuse.
 */
export function useOriginForm(request: IncomingMessage): void {
  const { url = '' } = request
  // Nearly all targets start with a slash.
  if (url.charCodeAt(0) === SLASH) return
  const authority = AUTHORITY.exec(url)
  // A request without `Host` is malformed.
  if (authority === null || request.headers.host === undefined) return
  const rest = url.slice(authority[0].length)
  request.url = rest.startsWith('/') ? rest : request.method === 'OPTIONS' && rest === '' ? '*' : `/${rest}`
  request.headers.host = authority[1]!
}

const SLASH = 0x2f
