import type { IncomingHttpHeaders } from 'node:http'

export interface FastHead {
  url: string
  headers: IncomingHttpHeaders
  length: number
}

export interface HeadRules {
  paths: { has(path: string): boolean }
  elsewhere(host: string): boolean
}

/**
 * Reads a complete head if it is an ordinary HTTP/1.1 POST to one of `paths`: one host, one length, no duplicate
 * headers, none that affects framing or the connection, only visible ASCII. Null: leave it to the full parser (RFC
 * 9110, 9112).
 */
export function readFastHead(text: string, { paths, elsewhere }: HeadRules): FastHead | null {
  const line = text.indexOf('\r\n')
  if (!text.startsWith('POST /') || !text.startsWith(' HTTP/1.1', line - 9)) return null
  const url = text.slice(5, line - 9)
  const mark = url.indexOf('?')
  if (!paths.has(mark < 0 ? url : url.slice(0, mark)) || !URL.test(url)) return null
  const headers: Record<string, string> = {}
  const last = text.length - 2
  let at = line + 2
  while (at < last) {
    const end = text.indexOf('\r\n', at)
    const field = FIELD.exec(text.slice(at, end))
    if (field === null) return null
    const name = field[1]!.toLowerCase()
    if (UNUSUAL.has(name) || Object.hasOwn(headers, name)) return null
    headers[name] = field[2]!
    at = end + 2
  }
  const { host, connection, 'content-length': length } = headers
  if (at !== last || host === undefined || elsewhere(host) || length === undefined || !LENGTH.test(length)) return null
  if (connection !== undefined && connection.toLowerCase() !== 'keep-alive') return null
  return { url, headers: Object.freeze(headers), length: Number(length) }
}

// No underscores: some servers treat them as dashes.
const FIELD = /^([A-Za-z0-9-]+):[\t ]*([!-~](?:[\t -~]*[!-~])?)[\t ]*$/
const URL = /^[!-"$-~]+$/
const LENGTH = /^\d{1,9}$/
const UNUSUAL: ReadonlySet<string> = new Set([
  // Node treats it like `Connection`.
  'proxy-connection',
  'transfer-encoding',
  'expect',
  'upgrade',
  'trailer',
  'te',
  'http2-settings',
  // A list in Node's headers; never sent in requests.
  'set-cookie',
])

/** Longer heads than model clients write aren't cached, because there may be many idle connections. */
const REMEMBERED = 4_096

/** Reads the heads of one connection, which mostly differ only in the body length. */
export class FastHeads {
  readonly #rules: HeadRules
  #before = ''
  #after = ''
  #head: FastHead | null = null

  constructor(rules: HeadRules) {
    this.#rules = rules
  }

  read(text: string): FastHead | null {
    const last = this.#head
    if (last !== null && text.startsWith(this.#before) && text.endsWith(this.#after)) {
      const length = text.slice(this.#before.length, text.length - this.#after.length)
      if (length === last.headers['content-length']) return last
      if (LENGTH.test(length))
        return { url: last.url, headers: { ...last.headers, 'content-length': length }, length: Number(length) }
    }
    const head = readFastHead(text, this.#rules)
    const place = head === null || text.length > REMEMBERED ? null : /\r\ncontent-length:[\t ]*(?=\d)/i.exec(text)
    this.#head = place === null ? null : head
    if (place !== null) {
      const start = place.index + place[0].length
      this.#before = text.slice(0, start)
      this.#after = text.slice(text.indexOf('\r\n', start))
    }
    return head
  }
}
