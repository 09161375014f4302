import type { IncomingMessage, ServerResponse } from 'node:http'
import { refuse } from '#core/errors.ts'
import { buildApp } from './build.ts'
import { type File, readFiles } from './files.ts'
import { frames } from './frames.ts'

export interface AppMountOptions {
  /** Refuses a `Host` that is not ours: what is loaded from `/app` acts with the cookie. */
  checkHost(request: IncomingMessage): void
  /** The folder to build in when the dependencies can't be written to. */
  dataDir: string
  warn(error: unknown, message: string): void
}

interface Serving {
  prefix: string
  handle(request: IncomingMessage, response: ServerResponse): Promise<void>
}

/**
 * The policy of the app's pages: no script, style, picture or call from or to anywhere else, nothing inline, no frames
 * but our own (`frames.ts`), and no string that becomes markup or code, but for the address of a worker of ours.
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
  // The addresses of the app's own workers (web/src/install/worker.ts), and no other string.
  'trusted-types app-worker',
].join('; ')

/**
 * The path of the worker that reads PDFs, which people get from anybody: it calls nobody, not even us, and reads what
 * the page sends it. Its decoders of scanned pictures are WebAssembly.
 */
const PDF_WORKER = /^\/assets\/pdf\.worker[\w.-]*\.mjs$/
const PDF_WORKER_POLICY = [
  "default-src 'none'",
  "script-src 'wasm-unsafe-eval'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

/** The time that a request waits for a build before it gets a page that asks again. */
const WAIT_MS = 1_500

/** `/app`: the web app. Every path below it that is not a file is a page of it. */
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
      if (path !== '' && !path.startsWith('/')) refuse('not_found', { message: 'This path does not exist.' })
      checkHost(request)
      if (request.method !== 'GET' && request.method !== 'HEAD')
        refuse('method_not_allowed', { message: 'This path takes GET, HEAD.', headers: { allow: 'GET, HEAD' } })
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
      if (!file) return refuse('not_found', { message: 'This file does not exist; reload the page.' })
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
  // A frame without an origin reads its program too, which anybody may.
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

/** Sends a waiting page, only in the first seconds after an update: the browser asks again by itself. */
function sendWaiting(response: ServerResponse): void {
  const page =
    '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="color-scheme" content="light dark">' +
    '<title>Ukiyo</title><p>The app is being built. This takes a few seconds; the page reloads by itself.'
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
