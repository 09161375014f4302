import type { IncomingMessage } from 'node:http'
import { Refusal } from '#core/errors.ts'
import { shorten } from '#core/text/shorten.ts'

/** Headers allowed once. Node's parser already refuses two lengths. */
const ONCE: ReadonlyMap<string, number> = new Map([
  ['host', 1],
  ['authorization', 2],
  ['x-api-key', 4],
])
const LENGTHS: ReadonlySet<number> = new Set([...ONCE.keys()].map(({ length }) => length))

/**
 * Refuses ambiguous routing, authentication, or framing: missing or repeated `Host` (RFC 9112, 3.2), repeated
 * credentials, or a transfer coding other than `chunked`. Null if valid. Checks the raw fields, because Node silently
 * keeps the first of two.
 */
export function wrongFields({ headers, httpVersion, rawHeaders }: IncomingMessage): Refusal | null {
  if (headers.host === undefined && httpVersion === '1.1')
    return new Refusal('invalid_parameter', { message: 'The request has no `Host` header.', param: 'Host' })
  // One bit per header, to avoid allocations for valid requests.
  let count = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!
    const bit = LENGTHS.has(name.length) ? (ONCE.get(name.toLowerCase()) ?? 0) : 0
    if ((count & bit) !== 0) return repeatedField(name)
    count |= bit
  }
  const coding = headers['transfer-encoding']
  return coding === undefined || coding.toLowerCase() === 'chunked' ? null : wrongCoding(coding)
}

/** The body would reach its reader still encoded (RFC 9112, 6.1). */
const wrongCoding = (coding: string): Refusal =>
  new Refusal('unsupported_transfer_coding', {
    message: `\`Transfer-Encoding: ${shorten(coding, 100)}\` isn’t supported. Send only \`chunked\`, or use \`Content-Length\`.`,
    param: 'Transfer-Encoding',
  })

export const repeatedField = (name: string): Refusal =>
  new Refusal('invalid_parameter', { message: `The header \`${name}\` can be sent only once.`, param: name })
