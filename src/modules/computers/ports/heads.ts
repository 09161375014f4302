/** Platform credentials and hop-by-hop headers aren't forwarded. Pure. */
import { OUR_COOKIE, OUR_KEY } from './admission.ts'

/** Hop-by-hop headers (RFC 9110, 7.6.1). */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authorization',
  'proxy-authenticate',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'expect',
])
/**
 * `Connection` can't remove these (RFC 9110, 7.6.1). Without its length, a body would be parsed as the next request.
 */
const PROTECTED_HEADERS =
  /^(host|content-.*|range|if-.*|accept.*|authorization|cookie2?|set-cookie2?|origin|referer|sec-.*|access-control-.*|cache-control|pragma|vary|etag|location|date|x-content-type-options|x-frame-options|www-authenticate)$/
/** Set by proxies. The server sets its own values. */
const PROXY_HEADERS = /^(forwarded|via|x-real-ip|x-forwarded-.*|cf-.*|x-uk-.*)$/
/** Headers with effects outside the port's origin. */
const CROSS_ORIGIN_HEADERS: ReadonlySet<string> = new Set(['clear-site-data', 'strict-transport-security', 'alt-svc'])

export interface RequestHead {
  method: string
  rawHeaders: readonly string[]
  /** Such as `p5173-….localhost:4242`. */
  host: string
  protocol: 'http' | 'https'
  upgrade: boolean
}

/** Returns alternating names and values. */
export function requestHead({ method, rawHeaders, host, protocol, upgrade }: RequestHead): string[] {
  const hopByHop = connectionNames(rawHeaders)
  const head = ['Host', host, 'X-Forwarded-Host', host, 'X-Forwarded-Proto', protocol]
  let hasLength = false
  for (const [name, value] of fields(rawHeaders)) {
    const key = name.toLowerCase()
    if (key === 'transfer-encoding' && !hasLength) head.push('Transfer-Encoding', 'chunked')
    if (key === 'transfer-encoding' || key === 'content-length') hasLength = true
    if (key === 'host' || HOP_BY_HOP.has(key) || hopByHop.has(key) || PROXY_HEADERS.test(key)) continue
    if (key === 'authorization' && OUR_KEY.test(value.replace(/^Bearer +/i, ''))) continue
    if (key === 'x-api-key' && OUR_KEY.test(value)) continue
    const headerValue = key === 'cookie' ? withoutOurs(value) : value
    if (headerValue !== '') head.push(name, headerValue)
  }
  // Without a length, Node would add `Transfer-Encoding: chunked`.
  if (!hasLength && /^(POST|PUT|PATCH)$/.test(method)) head.push('Content-Length', '0')
  if (upgrade) head.push('Connection', 'Upgrade', 'Upgrade', 'websocket')
  else head.push('Connection', 'close')
  return head
}

const withoutOurs = (cookies: string): string =>
  cookies
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair !== '' && !OUR_COOKIE.test(pair.split('=')[0]!.trim()))
    .join('; ')

/** Alternating names and values. Cookies are limited to their origin. */
export function responseHead(rawHeaders: readonly string[]): string[] {
  const hopByHop = connectionNames(rawHeaders)
  const head: string[] = []
  for (const [name, value] of fields(rawHeaders)) {
    const key = name.toLowerCase()
    if (HOP_BY_HOP.has(key) || hopByHop.has(key) || CROSS_ORIGIN_HEADERS.has(key)) continue
    const headerValue = key === 'set-cookie' ? ownCookie(value) : value
    if (headerValue !== null) head.push(name, headerValue)
  }
  return head
}

/** RFC 6265, 5.2, and its successor. `Domain` would widen the cookie. */
const ALLOWED_ATTRIBUTES = /^(expires|max-age|path|secure|httponly|samesite|partitioned|priority)$/i

/** Null: could pass for ours. Browsers send a nameless cookie as its bare value. */
function ownCookie(value: string): string | null {
  const [pair, ...attributes] = value.split(';')
  const [, name, rest] = /^([^=]*)=?(.*)$/s.exec(pair!)!
  const cookieName = name!.trim() === '' ? rest!.split('=')[0]! : name!
  if (OUR_COOKIE.test(cookieName.trim())) return null
  return [pair, ...attributes.filter((one) => ALLOWED_ATTRIBUTES.test(one.split('=')[0]!.trim()))].join(';')
}

function* fields(raw: readonly string[]): Generator<[string, string]> {
  for (let i = 0; i < raw.length; i += 2) yield [raw[i]!, raw[i + 1]!]
}

function connectionNames(raw: readonly string[]): Set<string> {
  const names = new Set<string>()
  for (const [name, value] of fields(raw))
    if (name.toLowerCase() === 'connection')
      for (const one of value.split(',').map((word) => word.trim().toLowerCase()))
        if (!PROTECTED_HEADERS.test(one)) names.add(one)
  return names
}
