import type { IncomingMessage } from 'node:http'
import ipaddr from 'ipaddr.js'
import type { Config } from '#config'
import type { CallContext } from '#core/context.ts'
import { refuse } from '#core/errors.ts'
import { shorten } from '#core/text/shorten.ts'

type Caller = CallContext['caller']

export interface Origins {
  /** Throws 421 for an unknown `Host`, which prevents DNS rebinding. */
  checkHost(request: IncomingMessage): void
  checkCrossSite(request: IncomingMessage): void
  /** Throws 403 for pages of other sites. Pages of this machine and programs without `Origin` pass. */
  checkOrigin(request: IncomingMessage): void
  callerOf(request: IncomingMessage): Caller
  clientIp(request: IncomingMessage): string
  isLoopback(request: IncomingMessage): boolean
  /** `__Host-uk_session` on https. */
  cookieName: string
  secure: boolean
}

export function createOrigins(config: Pick<Config, 'publicUrl' | 'allowedHosts' | 'trustedProxies' | 'host'>): Origins {
  const publicUrl = config.publicUrl === null ? null : new URL(config.publicUrl)
  const secure = publicUrl?.protocol === 'https:'
  const allowedOrigins = new Set(
    [...config.allowedHosts, ...(publicUrl ? [publicUrl.hostname, publicUrl.host] : [])].map((host) =>
      host.toLowerCase(),
    ),
  )
  const proxies = config.trustedProxies.map((range) =>
    range.includes('/')
      ? ipaddr.parseCIDR(range)
      : ([ipaddr.parse(range), ipaddr.parse(range).kind() === 'ipv4' ? 32 : 128] as const),
  )
  const trusts = (ip: string): boolean => {
    const address = ipaddr.process(ip)
    return proxies.some(([range, bits]) => range.kind() === address.kind() && address.match(range, bits))
  }
  /** An instance configured as public or behind a proxy treats no caller as local. */
  const alone =
    isLoopbackName(config.host) &&
    (publicUrl === null || isLoopbackName(hostName(publicUrl.host))) &&
    config.trustedProxies.length === 0
  const peer = (request: IncomingMessage): string => plainIp(request.socket.remoteAddress ?? '')

  /** The `Origin` if the page is ours: the host of the request or the public URL. */
  const ownOrigin = ({ headers }: Pick<IncomingMessage, 'headers'>): string | null => {
    const origin = URL.canParse(headers.origin ?? '') ? new URL(headers.origin!) : null
    if (origin === null) return null
    return origin.host === headers.host?.toLowerCase() || origin.origin === publicUrl?.origin ? origin.origin : null
  }

  const origins: Origins = {
    cookieName: secure ? '__Host-uk_session' : 'uk_session',
    secure,
    checkHost(request) {
      const host = (request.headers.host ?? '').toLowerCase()
      const name = hostName(host)
      if (isLoopbackName(name) || allowedOrigins.has(host) || allowedOrigins.has(name)) return
      refuse('misdirected_request')
    },
    checkCrossSite({ headers }) {
      if (headers['sec-fetch-site'] === 'cross-site') refuse('cross_site')
      if (headers.origin === undefined) {
        if (headers['x-uk-csrf'] !== '1') refuse('cross_site')
        return
      }
      if (ownOrigin({ headers }) === null) refuse('cross_site')
    },
    checkOrigin({ headers }) {
      if (headers.origin === undefined) return
      const origin = URL.canParse(headers.origin) ? new URL(headers.origin) : null
      const isKnown = (url: URL): boolean =>
        isLoopbackName(hostName(url.host)) || allowedOrigins.has(url.host) || allowedOrigins.has(url.hostname)
      if (origin && (origin.host === headers.host?.toLowerCase() || isKnown(origin))) return
      refuse('cross_site', { message: 'Requests from other sites aren’t allowed. Add their host to UK_ALLOWED_HOSTS.' })
    },
    callerOf: (request) => ({
      ip: origins.clientIp(request),
      userAgent: shorten(request.headers['user-agent'] ?? '', 512) || null,
      loopback: origins.isLoopback(request),
      origin: ownOrigin(request),
    }),
    clientIp(request) {
      let ip = peer(request)
      // Right to left: an address is trusted only if the proxy that reported it is.
      const addresses = String(request.headers['x-forwarded-for'] ?? '')
        .split(',')
        .map((part) => part.trim())
        .filter(Boolean)
      while (addresses.length > 0 && ipaddr.isValid(ip) && trusts(ip)) ip = plainIp(addresses.pop()!)
      return ip
    },
    isLoopback(request) {
      return (
        alone &&
        !tellsOfProxy(request) &&
        isLoopbackName(peer(request)) &&
        isLoopbackName(hostName((request.headers.host ?? '').toLowerCase()))
      )
    },
  }
  return origins
}

/**
 * nginx before 1.29.7 uses HTTP/1.0 for a bare `proxy_pass` and adds no header. Later versions use HTTP/1.1 with
 * keep-alive and look like a local client: only `UK_PUBLIC_URL` reveals them.
 */
const tellsOfProxy = ({ httpVersionMajor, httpVersionMinor, headers }: IncomingMessage): boolean =>
  (httpVersionMajor === 1 && httpVersionMinor === 0) ||
  Object.keys(headers).some((name) => /^(forwarded|via|x-real-ip|x-forwarded-.*|cf-.*)$/.test(name))

const plainIp = (ip: string): string => ip.replace(/^::ffff:/i, '')
const hostName = (host: string): string =>
  host.startsWith('[') ? host.slice(1, host.indexOf(']')) : host.replace(/:\d+$/, '')
export const isLoopbackName = (name: string): boolean =>
  name === 'localhost' || name.endsWith('.localhost') || name === '::1' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(name)
