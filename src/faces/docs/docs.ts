import { hash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Area } from '#kernel/contract.ts'
import { areaPage } from './area.ts'
import { homePage } from './home.ts'
import { html } from './html.ts'
import { page, pathOf } from './page.ts'
import { style } from './style.ts'
import { type Document, openapi } from '../openapi/openapi.ts'

export interface DocsOptions {
  /** The address of the instance; asked when a page is first made, since the port may not be known before. */
  origin: () => string
  /** The newest dated version. */
  version: string
}

interface Served {
  type: string
  text: string
  etag: string
}

interface Serving {
  prefix: string
  handle(request: IncomingMessage, response: ServerResponse): void
}

/** The pages under `/docs`, and the description at `/v1/openapi.json`: made from the contracts, once, when first asked for. */
export function docsMounts(areas: readonly Area[], { origin, version }: DocsOptions): Serving[] {
  let known: Document | undefined
  const document = (): Document => (known ??= openapi(areas, { origin: origin(), version }))
  const pages = new Map<string, Served>()
  const make = (path: string): Served | null => {
    if (path === '/v1/openapi.json') return served('application/json', JSON.stringify(document()))
    if (path === '/docs/style.css') return served('text/css', style)
    if (path === '/docs') return served('text/html', page('Ukiyo API', path, areas, homePage(areas, document())))
    const area = areas.find((one) => pathOf(one) === path)
    return area ? served('text/html', page(`${area.title} · Ukiyo API`, path, areas, areaPage(area, document()))) : null
  }
  const serve = (path: string): Served | null => {
    const kept = pages.get(path) ?? make(path)
    if (kept) pages.set(path, kept)
    return kept
  }
  const missing = (): string =>
    page(
      'Not found · Ukiyo API',
      '',
      areas,
      html`<h1>Page not found</h1>
        <p class="lead">
          What was here has moved, or the address has a slip of the pen. <a href="/docs">Start here</a>, or take an area
          from the list.
        </p>`,
    )
  return ['/docs', '/v1/openapi.json'].map((prefix) => ({
    prefix,
    handle: (request, response) => answer(request, response, serve, missing),
  }))
}

const served = (type: string, text: string): Served => ({
  type: `${type}; charset=utf-8`,
  text,
  etag: `"${hash('sha1', text, 'base64url')}"`,
})

function answer(
  request: IncomingMessage,
  response: ServerResponse,
  serve: (path: string) => Served | null,
  missing: () => string,
): void {
  response.setHeader('x-content-type-options', 'nosniff')
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.setHeader('allow', 'GET, HEAD')
    return refuse(response, 405, 'method_not_allowed', 'This path takes GET, HEAD.')
  }
  const path = request.url!.split('?')[0]!
  const found = serve(path.length > 1 ? path.replace(/\/$/, '') : path)
  if (!found) {
    if (!path.startsWith('/docs/'))
      return refuse(response, 404, 'not_found', 'This page does not exist. /docs lists them all.')
    secure(response)
    return void response.writeHead(404, { 'content-type': 'text/html; charset=utf-8' }).end(missing())
  }
  response.setHeader('etag', found.etag).setHeader('cache-control', 'no-cache')
  // Anyone may read the description, from any page, as with every answer to a key.
  if (path.startsWith('/v1/')) response.setHeader('access-control-allow-origin', '*')
  else secure(response)
  if (request.headers['if-none-match'] === found.etag) return void response.writeHead(304).end()
  const size = Buffer.byteLength(found.text)
  response
    .writeHead(200, { 'content-type': found.type, 'content-length': size })
    .end(request.method === 'HEAD' ? undefined : found.text)
}

const secure = (response: ServerResponse): void =>
  void response.setHeader('content-security-policy', policy).setHeader('referrer-policy', 'no-referrer')

const policy = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

function refuse(response: ServerResponse, status: number, type: string, message: string): void {
  response
    .writeHead(status, { 'content-type': 'application/json; charset=utf-8' })
    .end(JSON.stringify({ error: { type, message } }))
}
