import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Area } from '#core/contract.ts'
import type { Served, Site } from './site.ts'

export interface DocsOptions {
  /** The instance's address. Read per call, since the port may not be known at startup. */
  origin: () => string
  /** The instance has one fixed address, whatever host the reader used. */
  publicUrl: string | null
  /** Throws for an unknown `Host`. */
  checkHost(request: IncomingMessage): void
  version: string
}

interface Serving {
  prefix: string
  handle(request: IncomingMessage, response: ServerResponse): Promise<void>
}

/** Serves `/docs` and `/v1/openapi.json`, both loaded on the first request. */
export function docsMounts(areas: readonly Area[], options: DocsOptions): Serving[] {
  let loading: Promise<Site> | undefined
  const site = (): Promise<Site> =>
    (loading ??= import('./site.ts').then(({ createSite }) => createSite(areas, options.version)))
  return ['/docs', '/v1/openapi.json'].map((prefix) => ({
    prefix,
    handle: (request, response) => answer(request, response, site, originOf(request, options)),
  }))
}

/** The origin the reader used, if it is a known host. */
function originOf(request: IncomingMessage, { origin, publicUrl, checkHost }: DocsOptions): string {
  const { host = '' } = request.headers
  if (publicUrl !== null || !/^[\w.[\]:-]+$/.test(host)) return publicUrl ?? origin()
  try {
    checkHost(request)
    // A forged proxy header only affects the page its own sender reads.
    return `${request.headers['x-forwarded-proto'] === 'https' ? 'https' : 'http'}://${host}`
  } catch {
    return origin()
  }
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  site: () => Promise<Site>,
  origin: string,
): Promise<void> {
  response.setHeader('x-content-type-options', 'nosniff')
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.setHeader('allow', 'GET, HEAD')
    return refuse(response, 405, 'method_not_allowed', 'This path takes GET, HEAD.')
  }
  const [asked = '', query = ''] = request.url!.split('?')
  const path = asked.length > 1 ? asked.replace(/\/$/, '') : asked
  const { at, missing } = await site()
  const found = at(path, new URLSearchParams(query), origin)
  if (!found) {
    if (!path.startsWith('/docs/'))
      return refuse(response, 404, 'not_found', 'This page does not exist. /docs lists them all.')
    secure(response)
    return void response.writeHead(404, { 'content-type': 'text/html; charset=utf-8' }).end(missing())
  }
  if ('movedTo' in found) return void response.writeHead(301, { location: found.movedTo }).end()
  // Readable from any origin, like every response to a key.
  if (path.startsWith('/v1/')) response.setHeader('access-control-allow-origin', '*')
  else secure(response)
  send(request, response, found)
}

function send(request: IncomingMessage, response: ServerResponse, { type, body, etag }: Served): void {
  response.setHeader('etag', etag).setHeader('cache-control', 'no-cache').setHeader('vary', 'Host, X-Forwarded-Proto')
  if (request.headers['if-none-match'] === etag) return void response.writeHead(304).end()
  response
    .writeHead(200, { 'content-type': type, 'content-length': Buffer.byteLength(body) })
    .end(request.method === 'HEAD' ? undefined : body)
}

/** The content security policy, as strict as the app's: nothing inline, nothing external, trusted types only. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

const secure = (response: ServerResponse): void =>
  void response
    .setHeader('content-security-policy', POLICY)
    .setHeader('referrer-policy', 'no-referrer')
    .setHeader('cross-origin-opener-policy', 'same-origin')

function refuse(response: ServerResponse, status: number, type: string, message: string): void {
  response
    .writeHead(status, { 'content-type': 'application/json; charset=utf-8' })
    .end(JSON.stringify({ error: { type, message } }))
}
