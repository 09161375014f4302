import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { newId } from '#kernel/ids.ts'

const kinds: Record<string, [status: string, message: string]> = {
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'The header fields are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'The request took too long to arrive.'],
}
const malformed: [string, string] = ['400 Bad Request', 'This is not well-formed HTTP.']

/** The answer to bytes that are no request, which never come to the door: in the form of every other refusal. */
export function answerMalformed(error: NodeJS.ErrnoException, socket: Duplex, version: string): void {
  // Node keeps the answer in progress here, and looks at it so itself. Into one that has begun nothing more can be said.
  const answer = (socket as { _httpMessage?: ServerResponse | null })._httpMessage
  if (!socket.writable || error.code === 'ECONNRESET' || answer?.headersSent) return void socket.destroy()
  const [status, message] = kinds[error.code ?? ''] ?? malformed
  const body = JSON.stringify({ error: { type: 'invalid_request', message } })
  const head = [
    `HTTP/1.1 ${status}`,
    `x-request-id: ${String(answer?.getHeader('x-request-id') ?? newId())}`,
    `x-service-version: ${version}`,
    'access-control-allow-origin: *',
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}
