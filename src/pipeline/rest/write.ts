import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { nextPiece } from '#infra/confined/slices.ts'
import type { Log } from '#infra/log.ts'
import type { Id } from '#core/ids.ts'
import type { WrittenRefusal } from '#core/exchange.ts'
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

/** `tagged`: with its entity tag, and 304 for who has it already. */
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
 * The same for a large answer: in pieces, and others are served between two of them. Large answers of one account come
 * piece by piece too, however many there are. Resolves when the last piece is written or the caller has left.
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

/** Sets the entity tag. Whether the caller has this answer already, which is said then. */
function isKnown(request: IncomingMessage, response: ServerResponse, etag: string): boolean {
  response.setHeader('etag', etag)
  const etags = request.headers['if-none-match']
  if (etags === undefined || !names(etags, etag, 'weakly')) return false
  response.writeHead(304).end()
  return true
}

const JSON_HEAD = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' }

/** The bytes of a refused body that are read to keep its connection. */
const READ_ON_BYTES = 1 << 20

/**
 * Sends the fault of a request, in the envelope of errors, as soon as it is known: most often before its body has come.
 * A fault of ours is logged besides.
 */
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
  // The rest of a file that is refused is not waited for.
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

/** Bytes of the body. Without a length and a coding there are none (RFC 9112, 6.3), though Node has not yet said so. */
const announcedLength = ({ headers }: IncomingMessage): number =>
  Number(headers['content-length'] ?? (headers['transfer-encoding'] === undefined ? 0 : Infinity))

/** The time that a refused upload is listened to, so that its sender, who reads only afterwards, still finds the answer. */
const LINGER_MS = 5_000

/**
 * Ends an answer that may have come before the end of its request. A connection that closes with unread bytes is reset,
 * and the reset takes the answer with it; one that stays open is read to its end by Node.
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
