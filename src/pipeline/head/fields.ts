import type { IncomingMessage } from 'node:http'
import { Refusal } from '#core/errors.ts'
import { shorten } from '#core/text/shorten.ts'

/** Header fields that may stand once. Two lengths never come here: Node's parser refuses them. */
const ONCE: ReadonlyMap<string, number> = new Map([
  ['host', 1],
  ['authorization', 2],
  ['x-api-key', 4],
])
const LENGTHS: ReadonlySet<number> = new Set([...ONCE.keys()].map(({ length }) => length))

/**
 * The refusal of a request whose fields leave open where it goes, who sends it or how its body is read: none or two of
 * `Host` (RFC 9112, 3.2), two of a credential, a transfer coding other than `chunked`. Null: there is nothing to refuse. Node keeps the first of two and says nothing, so the fields are
 * read as they came.
 */
export function wrongFields({ headers, httpVersion, rawHeaders }: IncomingMessage): Refusal | null {
  if (headers.host === undefined && httpVersion === '1.1')
    return new Refusal('invalid_parameter', { message: 'The request has no `Host` header.', param: 'Host' })
  // One bit for each, so that nothing is made for requests that are right.
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
