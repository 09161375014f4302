import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { Refusal } from '#core/errors.ts'
import { type Id, newId } from '#core/ids.ts'
import { repeatedField } from './fields.ts'

interface ParseError extends NodeJS.ErrnoException {
  reason?: string
  /** The last bytes received, and how far they were parsed. */
  rawPacket?: Buffer
  bytesParsed?: number
}

const malformed = (message: string): Refusal => new Refusal('invalid_parameter', { message })

const kinds: Record<string, [status: string, why: Refusal]> = {
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', malformed('The request headers are too large.')],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', malformed('The request took too long to arrive.')],
}
const twoLengths: [string, Refusal] = ['400 Bad Request', repeatedField('Content-Length')]
const other: [string, Refusal] = ['400 Bad Request', malformed('The request isn’t valid HTTP.')]

/**
 * Answers bytes that aren't an HTTP request, which never reach the server, in the usual error format. `bodyOf` encodes
 * the refusal for an address; the address is empty if unreadable.
 */
export function answerMalformed(
  error: ParseError,
  socket: Duplex,
  version: string,
  bodyOf: (url: string, why: Refusal, requestId: Id) => object,
): void {
  // Node keeps the current response here and checks it the same way. A started response can't be changed.
  const answer = (socket as { _httpMessage?: ServerResponse | null })._httpMessage
  if (!socket.writable || error.code === 'ECONNRESET' || answer?.headersSent) return void socket.destroy()
  const [status, why] = error.reason === 'Duplicate Content-Length' ? twoLengths : (kinds[error.code ?? ''] ?? other)
  const requestId = String(answer?.getHeader('x-request-id') ?? newId())
  const { method, url } = requestLine(error)
  const body = JSON.stringify(bodyOf(url, why, requestId))
  const head = [
    `HTTP/1.1 ${status}`,
    `x-request-id: ${requestId}`,
    `x-service-version: ${version}`,
    'access-control-allow-origin: *',
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${method === 'HEAD' ? '' : body}`)
}

/** The last parsed request line belongs to the invalid request, unless its head arrived in several pieces. */
function requestLine({ rawPacket, bytesParsed }: ParseError): { method: string; url: string } {
  const rawRequest = rawPacket?.toString('latin1', 0, bytesParsed) ?? ''
  const [, method = '', url = ''] = [...rawRequest.matchAll(/(?<=^|\n)([A-Z]+) (\S+) HTTP\/1\.[01]\r?\n/g)].at(-1) ?? []
  return { method, url }
}
