import { shorten } from '#core/text/shorten.ts'
import { isUtf8 } from 'node:buffer'
import type { UpstreamFault } from '../model/canonical-request.ts'
import { isObject, parseJson } from '../model/json.ts'
import { type AnswerHeaders, fault, kindOf, withoutKeys } from './faults/faults.ts'

const word = (headers: AnswerHeaders, name: string): string => String(headers[name] ?? '').trim()

/** Judged by the head of the answer; null: readable so far. */
export function unreadableHead(status: number, headers: AnswerHeaders): UpstreamFault | null {
  const reason = reasonIn(status, headers)
  return reason === null ? null : fault(status >= 400 ? kindOf(status, '') : 'garbage', reason, status, headers)
}

/** Compressing codings (IANA, HTTP content codings). Some servers put a charset there, which changes no bytes. */
const COMPRESSED = /\b(?:x-)?(?:gzip|compress|deflate|br|zstd|dcb|dcz|pack200-gzip|exi)\b/i

export function compressionIn(headers: AnswerHeaders): string | null {
  const encoding = word(headers, 'content-encoding')
  return COMPRESSED.test(encoding)
    ? `The provider’s response uses \`content-encoding: ${shorten(encoding, 60)}\`, which wasn’t requested. Turn off compression in the proxy in front of it.`
    : null
}

function reasonIn(status: number, headers: AnswerHeaders): string | null {
  const compression = compressionIn(headers)
  if (compression !== null) return compression
  if (status === 204 || status === 205) return `The provider returned status ${status} without a body.`
  if (status >= 300 && status < 400)
    return `The provider returned a redirect (${status}), which isn’t followed. Set the endpoint’s \`base_url\` to the final URL.`
  const charset = charsetOf(headers)
  return /^utf-?(16|32)/i.test(charset) ? inAnotherCharset(charset) : null
}

const charsetOf = (headers: AnswerHeaders): string =>
  shorten(/;\s*charset\s*=\s*"?([^";\s]+)/i.exec(word(headers, 'content-type'))?.[1] ?? '', 60)
const inAnotherCharset = (charset: string): string =>
  `The provider’s response uses the charset \`${charset}\`. It must be UTF-8.`

/** For a 200 answer. Null for JSON, even if it isn't a valid answer. */
export function unreadableBody(
  headers: AnswerHeaders,
  body: Buffer,
  expected: 'JSON' | 'an event stream',
): UpstreamFault {
  return fault('garbage', reasonOf(headers, body, expected), null)
}

function reasonOf(headers: AnswerHeaders, body: Buffer, expected: 'JSON' | 'an event stream'): string {
  const type = word(headers, 'content-type')
  if (body.length === 0) return 'The provider returned an empty body.'
  const format = magicOf(body)
  if (format !== null)
    return `The provider returned ${format} bytes without a \`content-encoding\` header. Turn off compression in the proxy in front of it.`
  if (!isUtf8(body)) return inAnotherCharset(charsetOf(headers) || (body.includes(0) ? 'UTF-16' : 'unknown'))
  const text = body.toString()
  const start = text.trimStart()
  if (start === '') return 'The provider returned an empty body.'
  if (/^<(?:!doctype|html|head|body|\?xml)/i.test(start) || /^text\/html/i.test(type))
    return `The provider returned an HTML page instead of ${expected}. Check the endpoint’s \`base_url\` and the proxy in front of it.`
  if (/^(?:data|event|id|retry)?:/.test(start))
    return expected === 'JSON'
      ? 'The provider returned an event stream instead of JSON, although the request doesn’t ask for one.'
      : `The provider returned an event stream with \`content-type: ${shorten(type, 60) || 'none'}\`. It must be \`text/event-stream\`.`
  const json = parseJson(text)
  if (json !== undefined) return ofAnotherShape(json, expected)
  if (/^[[{]/.test(start)) return `The provider returned incomplete or invalid JSON (${body.length} bytes).`
  return `The provider returned plain text instead of ${expected}: ${shorten(withoutKeys(start), 200).trim()}`
}

/** JSON that isn't an answer of the requested shape. */
function ofAnotherShape(json: unknown, expected: 'JSON' | 'an event stream'): string {
  if (!isObject(json)) return 'The provider returned JSON that isn’t an object.'
  const fields = Object.keys(json)
    .slice(0, 8)
    .map((name) => `\`${shorten(name, 40)}\``)
  const holds = fields.length === 0 ? 'It is empty.' : `It has the fields ${fields.join(', ')}.`
  return expected === 'JSON'
    ? `The provider returned JSON that isn’t a response of this API. ${holds} Check the endpoint’s \`shape\` and \`base_url\`.`
    : `The provider returned JSON instead of an event stream, although the request says \`stream: true\`. ${holds}`
}

/** Detects undeclared compression. Brotli has no magic bytes. */
function magicOf(body: Buffer): string | null {
  const begins = (...bytes: number[]): boolean => bytes.every((byte, i) => body[i] === byte)
  if (begins(0x1f, 0x8b)) return 'gzip'
  if (begins(0x28, 0xb5, 0x2f, 0xfd)) return 'zstd'
  if (begins(0x78, 0x9c) || begins(0x78, 0xda) || begins(0x78, 0x01)) return 'deflate'
  return null
}
