import type { Send } from './send.ts'

const OWN: ReadonlySet<string> = new Set(['host', 'connection', 'content-length', 'transfer-encoding', 'upgrade', 'te'])

// For endpoints that add no headers per call: a known array isn't encoded again.
const headCache = new WeakMap<readonly string[], string>()

/** Encodes the request line and headers (RFC 9112). Throws on values that could inject further lines. */
export function headOf({ origin, method, path, headers, body, lead = '', streamed }: Send): string {
  if (!/^\/[\x21-\x7e]*$/.test(path)) throw new TypeError('the path of a request holds what no URL may hold')
  let fields = headCache.get(headers)
  if (fields === undefined) headCache.set(headers, (fields = fieldsOf(headers)))
  const length =
    streamed !== undefined
      ? `content-length: ${streamed.length}\r\n`
      : body === null
        ? method === 'GET' || method === 'HEAD'
          ? ''
          : 'content-length: 0\r\n'
        : `content-length: ${lead.length + body.length}\r\n`
  return `${method} ${path} HTTP/1.1\r\nhost: ${origin.slice(origin.indexOf('//') + 2)}\r\n${fields}${length}\r\n`
}

function fieldsOf(headers: readonly string[]): string {
  let text = ''
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!
    const value = headers[i + 1]!
    if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) || OWN.has(name.toLowerCase()))
      throw new TypeError(`${name} is not a header that a request may set`)
    if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) throw new TypeError(`the value of ${name} is not a header value`)
    text += `${name}: ${value}\r\n`
  }
  return text
}
