import type { IncomingHttpHeaders } from 'node:http'

/** The head of a request that nobody could read in two ways. */
export interface FastHead {
  url: string
  headers: IncomingHttpHeaders
  /** Bytes of the body. */
  length: number
}

export interface HeadRules {
  paths: { has(path: string): boolean }
  /** A host that is not the API's. */
  elsewhere(host: string): boolean
}

/**
 * Reads `text`, a head with its empty line, if it is an ordinary POST of HTTP/1.1 to one of `paths`: a host, one length,
 * no header twice, none that changes how the message or its connection is read, nothing but visible ASCII. Null:
 * whatever else it is, right or wrong, is for a full parser to say (RFC 9110, 9112).
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

// A name without underscores: some servers take them for dashes.
const FIELD = /^([A-Za-z0-9-]+):[\t ]*([!-~](?:[\t -~]*[!-~])?)[\t ]*$/
const URL = /^[!-"$-~]+$/
const LENGTH = /^\d{1,9}$/
const UNUSUAL: ReadonlySet<string> = new Set([
  // Node heeds it as it does `Connection`.
  'proxy-connection',
  'transfer-encoding',
  'expect',
  'upgrade',
  'trailer',
  'te',
  'http2-settings',
  // No request has it; in Node's headers it is a list.
  'set-cookie',
])

/** Longer heads than clients of models write: idle connections, of which there may be many, do not keep them. */
const REMEMBERED = 4_096

/** Reads the heads of one connection, which are mostly the same but for the length of the body. */
export class FastHeads {
  readonly #rules: HeadRules
  #before = ''
  #after = ''
  #head: FastHead | null = null

  constructor(rules: HeadRules) {
    this.#rules = rules
  }

  /** Reads a head as `readFastHead` does. */
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
