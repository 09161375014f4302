import type { IncomingMessage, ServerResponse } from 'node:http'

const ALLOWED =
  'Authorization, x-api-key, Content-Type, X-Service-Version, X-Client-Request-Id, If-Match, If-None-Match, If-Modified-Since, If-Range, Range, Tus-Resumable, Upload-Length, Upload-Defer-Length, Upload-Offset, Upload-Metadata, Upload-Checksum, Last-Event-ID, anthropic-version, anthropic-beta, anthropic-dangerous-direct-browser-access, HTTP-Referer, X-Title, X-OpenRouter-Title, x-uk-strict, x-uk-seed, x-uk-hedge, Mcp-Method, Mcp-Name, MCP-Protocol-Version, Mcp-Session-Id, x-session-id, x-stainless-arch, x-stainless-lang, x-stainless-os, x-stainless-package-version, x-stainless-retry-count, x-stainless-runtime, x-stainless-runtime-version, x-stainless-timeout, x-stainless-helper-method'
export const EXPOSED =
  'X-Request-Id, X-Client-Request-Id, X-Service-Version, RateLimit, RateLimit-Policy, Retry-After, ETag, request-id, x-uk-route, x-uk-losses, x-uk-hedge, Content-Range, Accept-Ranges, Content-Disposition, Last-Modified, Location, Tus-Resumable, Tus-Version, Upload-Offset, Upload-Length, Upload-Expires, Upload-Metadata, x-uk-file-id, WWW-Authenticate'

/**
 * Keys work from any page. Cookies don't: credentials aren't allowed. Only cross-origin requests need the long header
 * list.
 */
export function allowCors({ headers }: IncomingMessage, response: ServerResponse): void {
  response.setHeader('access-control-allow-origin', '*')
  if (headers.origin !== undefined) response.setHeader('access-control-expose-headers', EXPOSED)
}

export const preflightHead = (methods: Iterable<string>): string[] => [
  'access-control-allow-methods',
  [...methods].join(', '),
  'access-control-allow-headers',
  ALLOWED,
  'access-control-max-age',
  '86400',
]

export function answerPreflight(response: ServerResponse, methods: Iterable<string>): void {
  response.writeHead(204, preflightHead(methods)).end()
}
