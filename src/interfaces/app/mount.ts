import type { IncomingMessage, ServerResponse } from 'node:http'
import { refuse } from '#core/errors.ts'
import { buildApp } from './build.ts'
import { type File, readFiles } from './files.ts'
import { frames } from './frames.ts'

export interface AppMountOptions {
  /** Rejects unknown hosts, since the app is authenticated by a cookie. */
  checkHost(request: IncomingMessage): void
  /** The build folder if the dependencies are read-only. */
  dataDir: string
  warn(error: unknown, message: string): void
}

interface Serving {
  prefix: string
  handle(request: IncomingMessage, response: ServerResponse): Promise<void>
}

/**
 * The content security policy of the app's pages: no external or inline code, no frames except the app's own
 * (`frames.ts`), and Trusted Types, which allow only the app's worker URLs.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "media-src 'self'",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "frame-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "worker-src 'self'",
  // Only the app's own worker URLs (web/src/shared/service-worker/worker.ts).
  'trusted-types app-worker',
].join('; ')

/**
 * The PDF worker handles untrusted files: it has no network access, not even to this server, and reads only what the
 * page sends it. Its image decoders are WebAssembly.
 */
const PDF_WORKER = /^\/assets\/pdf\.worker[\w.-]*\.mjs$/
const PDF_WORKER_POLICY = [
  "default-src 'none'",
  "script-src 'wasm-unsafe-eval'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

/** How long a request waits for a build before it gets a page that reloads. */
const WAIT_MS = 1_500

/** `/app`: the web app. Paths that aren't files are pages. */
export function appMount({ checkHost, dataDir, warn }: AppMountOptions): Serving {
  let reading: Promise<ReadonlyMap<string, File>> | undefined
  const files = (): Promise<ReadonlyMap<string, File>> => {
    reading ??= buildApp(dataDir).then(readFiles)
    reading.catch((error: unknown) => {
      reading = undefined
      warn(error, 'the app is not there')
    })
    return reading
  }
  return {
    prefix: '/app',
    async handle(request, response) {
      const path = request.url!.split('?')[0]!.slice('/app'.length)
      if (path !== '' && !path.startsWith('/')) refuse('not_found', { message: 'This path doesn’t exist.' })
      checkHost(request)
      if (request.method !== 'GET' && request.method !== 'HEAD')
        refuse('method_not_allowed', {
          message: 'This path supports only GET and HEAD.',
          headers: { allow: 'GET, HEAD' },
        })
      response.setHeader('content-security-policy', PDF_WORKER.test(path) ? PDF_WORKER_POLICY : POLICY)
      response.setHeader('x-content-type-options', 'nosniff')
      response.setHeader('referrer-policy', 'same-origin')
      response.setHeader('cross-origin-opener-policy', 'same-origin')
      response.setHeader('permissions-policy', 'camera=(), geolocation=(), microphone=(self), payment=(), usb=()')
      const frame = frames.get(path)
      for (const [name, value] of Object.entries(frame?.headers ?? {})) response.setHeader(name, value)
      if (frame && 'markup' in frame.page) return sendMarkup(response, frame.page.markup)
      const found = await within(files(), WAIT_MS)
      if (found === 'late') return sendWaiting(response)
      const file =
        found.get(frame && 'file' in frame.page ? frame.page.file : path) ??
        (path.startsWith('/assets/') ? undefined : found.get('/index.html'))
      if (!file) return refuse('not_found', { message: 'This file doesn’t exist. Reload the page.' })
      await sendFile(request, response, file)
    },
  }
}

async function within<T>(promise: Promise<T>, ms: number): Promise<T | 'late'> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<'late'>((resolve) => (timer = setTimeout(resolve, ms, 'late')))
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

async function sendFile({ method, headers }: IncomingMessage, response: ServerResponse, file: File): Promise<void> {
  response.setHeader('etag', file.etag)
  response.setHeader('cache-control', file.hashed ? 'public, max-age=31536000, immutable' : 'no-cache')
  response.setHeader('vary', 'Accept-Encoding')
  // Frames with an opaque origin load their scripts cross-origin; the files are public.
  if (file.hashed) response.setHeader('access-control-allow-origin', '*')
  if (headers['if-none-match'] === file.etag) return void response.writeHead(304).end()
  const packed = /\bgzip\b/.test(headers['accept-encoding'] ?? '') ? await file.packed() : null
  const body = packed ?? file.bytes
  response
    .writeHead(200, {
      'content-type': file.type,
      'content-length': body.length,
      ...(packed && { 'content-encoding': 'gzip' }),
    })
    .end(method === 'HEAD' ? undefined : body)
}

function sendMarkup(response: ServerResponse, page: string): void {
  response
    .writeHead(200, {
      'content-type': 'text/html; charset=utf-8',
      'content-length': Buffer.byteLength(page),
      'cache-control': 'no-cache',
    })
    .end(page)
}

/** Sends a page that reloads itself, during a build after an update. */
function sendWaiting(response: ServerResponse): void {
  const page =
    '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="color-scheme" content="light dark">' +
    '<title>Ukiyo</title><p>Building the app. This takes a few seconds, and this page reloads automatically.'
  response
    .writeHead(503, {
      'content-type': 'text/html; charset=utf-8',
      'content-length': Buffer.byteLength(page),
      'cache-control': 'no-store',
      'retry-after': '1',
      refresh: '1',
    })
    .end(page)
}
