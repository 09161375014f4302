import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { nextPiece } from '#packages/fair-queue/slices.ts'
import type { Log } from '#infra/log.ts'
import type { Id } from '#core/ids.ts'
import type { WrittenRefusal } from '#core/http/exchange.ts'
import { jsonPieces } from '#core/json/json-pieces.ts'
import { etagOf, names, refusedAnswer } from './reply.ts'
import { takeBytes } from './send-bytes.ts'

export function setHeaders(response: ServerResponse, headers: Record<string, string>): void {
  for (const name in headers) response.setHeader(name, headers[name]!)
}

export function clientRequestId({ headers }: IncomingMessage): string | null {
  const id = headers['x-client-request-id']
  return typeof id === 'string' && /^[\x21-\x7e]{1,128}$/.test(id) ? id : null
}

export function echoClientRequestId(request: IncomingMessage, response: ServerResponse): void {
  const id = clientRequestId(request)
  if (id !== null) response.setHeader('x-client-request-id', id)
}

export function sendJson(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  body: string,
  isTagged: boolean,
): void {
  if (isTagged && isKnown(request, response, etagOf(body))) return
  response.writeHead(status, { ...JSON_HEAD, 'content-length': Buffer.byteLength(body) }).end(body)
}

/**
 * Sends a large response in pieces, serving other requests in between. Large responses of one account share its turns.
 * Resolves when the last piece was written or the caller left.
 */
export async function sendLargeJson(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  answer: object,
  { isTagged, account }: { isTagged: boolean; account: string },
): Promise<void> {
  const pieces: Buffer[] = []
  const tag = isTagged ? createHash('sha1') : null
  let length = 0
  await nextPiece(account)
  for (const text of jsonPieces(answer)) {
    const piece = Buffer.from(text)
    tag?.update(piece)
    pieces.push(piece)
    length += piece.length
    await nextPiece(account)
    if (response.destroyed) return
  }
  if (tag !== null && isKnown(request, response, `"${tag.digest('base64url')}"`)) return
  response.writeHead(status, { ...JSON_HEAD, 'content-length': length })
  for (const piece of pieces) {
    await takeBytes(response, piece)
    if (response.destroyed) return
    await nextPiece(account)
  }
  response.end()
}

function isKnown(request: IncomingMessage, response: ServerResponse, etag: string): boolean {
  response.setHeader('etag', etag)
  const etags = request.headers['if-none-match']
  if (etags === undefined || !names(etags, etag, 'weakly')) return false
  response.writeHead(304).end()
  return true
}

const JSON_HEAD = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' }

/** Bytes of a refused body to read in order to keep the connection. */
const READ_ON_BYTES = 1 << 20

/** Sends an error immediately, usually before the body has arrived. Logs server faults. */
export function sendRefusal(
  request: IncomingMessage,
  response: ServerResponse,
  error: unknown,
  requestId: Id,
  log: Log,
): void {
  const { fault, ...refusal } = refusedAnswer(error)
  if (fault !== null && !response.destroyed) log.error({ error: fault, request_id: requestId }, 'a request failed')
  sendWrittenRefusal(request, response, refusal)
}

export function sendWrittenRefusal(request: IncomingMessage, response: ServerResponse, refusal: WrittenRefusal): void {
  const { status, headers, body } = refusal
  if (response.headersSent || response.destroyed) return void response.destroy()
  setHeaders(response, headers)
  if (!request.complete && announcedLength(request) > READ_ON_BYTES) response.shouldKeepAlive = false
  const text = JSON.stringify(body)
  response
    .writeHead(status, {
      'content-type': 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(text),
    })
    .write(text)
  endAfterBody(request, response)
}

/**
 * Body length. Without a length or transfer coding there is no body (RFC 9112, 6.3), even if Node hasn't signaled its
 * end yet.
 */
const announcedLength = ({ headers }: IncomingMessage): number =>
  Number(headers['content-length'] ?? (headers['transfer-encoding'] === undefined ? 0 : Infinity))

/** How long a refused upload is still read, because some clients read the response only after sending. */
const LINGER_MS = 5_000

/**
 * Ends a response that may precede the end of its request. Closing a connection with unread bytes resets it, which can
 * discard the response; on a connection that stays open Node reads the rest.
 */
function endAfterBody(request: IncomingMessage, response: ServerResponse): void {
  request.unpipe()
  if (request.complete || response.shouldKeepAlive) {
    response.end()
    return void request.resume()
  }
  const end = () => {
    clearTimeout(timer)
    response.end()
  }
  const timer = setTimeout(end, LINGER_MS)
  request.once('close', end).once('end', end).resume()
}
