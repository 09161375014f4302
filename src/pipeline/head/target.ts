import type { IncomingMessage } from 'node:http'

/** `http://host:port` before the path of an absolute-form target; no user name, which the form doesn't allow. */
const AUTHORITY = /^https?:\/\/([^/?#@\s]+)(?=[/?#]|$)/i

/**
 * Rewrites a target in absolute-form, as clients send it to a proxy, to the path and `Host` it stands for. The host of the
 * target replaces the header (RFC 9112, 3.2.2). A target that is no such address is left for the routes to refuse.
 */
export function useOriginForm(request: IncomingMessage): void {
  const { url = '' } = request
  // Nearly every target begins with a slash.
  if (url.charCodeAt(0) === SLASH) return
  const authority = AUTHORITY.exec(url)
  // Without the header the request is malformed, whatever its target says.
  if (authority === null || request.headers.host === undefined) return
  const rest = url.slice(authority[0].length)
  request.url = rest.startsWith('/') ? rest : request.method === 'OPTIONS' && rest === '' ? '*' : `/${rest}`
  request.headers.host = authority[1]!
}

const SLASH = 0x2f
