import type { IncomingHttpHeaders } from 'node:http'

/** The bytes aren't an HTTP/1.1 response (RFC 9112). */
export class NotHttp extends Error {
  override name = 'NoHttp'
  readonly code = 'UK_NO_HTTP'
}

/** Called in order: one final `head`, any number of `data`, one `end`. */
export interface AnswerSink {
  /** Also called for 100 and 103, before the final head. */
  head(status: number, headers: IncomingHttpHeaders): void
  data(bytes: Buffer): void
  end(): void
}

const LARGEST_HEAD = 65_536
const LARGEST_CHUNK_LINE = 4_096
const CR = 0x0d
const LF = 0x0a
const SHORT_DIGITS = 7
const HEX = Int8Array.from({ length: 256 }, (_, byte) => {
  const digit = Number.parseInt(String.fromCharCode(byte), 16)
  return Number.isNaN(digit) ? -1 : digit
})

type State =
  | 'idle'
  | 'head'
  | 'length'
  | 'close'
  | 'chunk-size'
  | 'chunk-data'
  | 'chunk-end'
  | 'trailer'
  /** The response is complete but not reported yet. */
  | 'over'

/**
 * Parses one connection's responses (RFC 9112). Strict about ambiguity: a length with chunks, two lengths, folded
 * lines, or unrequested bytes end the connection.
 */
export class AnswerParser {
  readonly #sink: AnswerSink
  #state: State = 'idle'
  #bodiless = false
  #remaining = 0
  #trailer = 0
  #pending: Buffer | null = null
  keepAlive = true
  idleSeconds: number | null = null

  constructor(sink: AnswerSink) {
    this.#sink = sink
  }

  expect(method: string): void {
    this.#state = 'head'
    this.#bodiless = method === 'HEAD'
    this.#trailer = 0
    this.keepAlive = true
  }

  push(bytes: Buffer): void {
    let at = 0
    while (at < bytes.length) {
      at = this.#step(bytes, at)
      if (this.#state !== 'over') continue
      // Bytes after a complete response must never be taken for the next one.
      if (at < bytes.length) this.keepAlive = false
      return this.#tellEnd()
    }
  }

  #step(bytes: Buffer, at: number): number {
    switch (this.#state) {
      case 'idle':
        throw new NotHttp('bytes came that belong to no answer')
      case 'head':
        return this.#readHead(bytes, at)
      case 'length':
      case 'chunk-data': {
        const end = Math.min(bytes.length, at + this.#remaining)
        this.#remaining -= end - at
        this.#sink.data(at === 0 && end === bytes.length ? bytes : bytes.subarray(at, end))
        if (this.#remaining === 0) this.#state = this.#state === 'length' ? 'over' : 'chunk-end'
        return end
      }
      case 'close':
        this.#sink.data(at === 0 ? bytes : bytes.subarray(at))
        return bytes.length
      default:
        return this.#readLine(bytes, at)
    }
  }

  finish(): boolean {
    if (this.#state === 'idle') return true
    if (this.#state !== 'close') return false
    this.#tellEnd()
    return true
  }

  #tellEnd(): void {
    this.#state = 'idle'
    this.#sink.end()
  }

  #readHead(bytes: Buffer, at: number): number {
    let end = bytes.indexOf('\r\n\r\n', at, 'latin1')
    let text: string
    let next: number
    if (this.#pending === null && end >= 0) {
      text = bytes.toString('latin1', at, end)
      next = end + 4
    } else {
      const before = this.#pending?.length ?? 0
      const input = this.#pending === null ? bytes.subarray(at) : Buffer.concat([this.#pending, bytes.subarray(at)])
      end = input.indexOf('\r\n\r\n', Math.max(0, before - 3), 'latin1')
      if (end < 0) return this.#hold(input, LARGEST_HEAD, bytes.length)
      this.#pending = null
      text = input.toString('latin1', 0, end)
      next = at + end + 4 - before
    }
    this.#takeHead(text)
    return next
  }

  #takeHead(text: string): void {
    const line = text.indexOf('\r\n')
    const old = text.startsWith('HTTP/1.0 ')
    const digits = text.slice(9, 12)
    const status = Number(digits)
    if (
      !(old || text.startsWith('HTTP/1.1 ')) ||
      !/^[1-9]\d\d$/.test(digits) ||
      (text.length > 12 && text.charCodeAt(12) !== 0x20 && line !== 12)
    )
      throw new NotHttp('the answer does not begin with a status line of HTTP/1')
    const headers = line < 0 ? {} : readFields(text, line + 2)
    if (status === 101) throw new NotHttp('the other side changed the protocol')
    if (status < 200) return this.#sink.head(status, headers)
    const { connection, 'content-length': length, 'transfer-encoding': coding, 'keep-alive': hint } = headers
    this.keepAlive = old
      ? /\bkeep-alive\b/i.test(connection ?? '')
      : connection === undefined || !/\bclose\b/i.test(connection)
    const timeoutHint = hint === undefined ? null : /\btimeout\s*=\s*(\d{1,6})/i.exec(String(hint))
    this.idleSeconds = timeoutHint ? Number(timeoutHint[1]) : null
    if (length !== undefined && coding !== undefined) throw new NotHttp('the answer has both a length and a coding')
    if (this.#bodiless || status === 204 || status === 304) {
      this.#state = 'over'
      return this.#sink.head(status, headers)
    }
    if (coding !== undefined) {
      if (!/^chunked$/i.test(coding)) throw new NotHttp(`the transfer coding ${coding} was not asked for`)
      this.#state = 'chunk-size'
    } else if (length !== undefined) {
      if (!/^\d{1,15}$/.test(length)) throw new NotHttp('the length of the answer is not a number')
      this.#remaining = Number(length)
      this.#state = this.#remaining === 0 ? 'over' : 'length'
    } else {
      this.keepAlive = false
      this.#state = 'close'
    }
    this.#sink.head(status, headers)
  }

  #readLine(bytes: Buffer, at: number): number {
    const next = this.#pending === null ? this.#readShort(bytes, at) : 0
    return next > 0 ? next : this.#readAny(bytes, at)
  }

  /** The common case: a complete chunk line without extension. Returns 0 otherwise. */
  #readShort(bytes: Buffer, at: number): number {
    let end = at
    let size = 0
    if (this.#state === 'chunk-size')
      for (let digit; end < at + SHORT_DIGITS && (digit = HEX[bytes[end]!] ?? -1) >= 0; end++) size = size * 16 + digit
    if (bytes[end] !== CR || bytes[end + 1] !== LF) return 0
    if (this.#state === 'chunk-end') this.#state = 'chunk-size'
    else if (this.#state === 'chunk-size' && end > at) this.#takeSize(size)
    else return 0
    return end + 2
  }

  #readAny(bytes: Buffer, at: number): number {
    let end = bytes.indexOf(0x0a, at)
    let line: string
    let next: number
    if (this.#pending === null && end >= 0) {
      line = bytes.toString('latin1', at, end + 1)
      next = end + 1
    } else {
      const before = this.#pending?.length ?? 0
      const input = this.#pending === null ? bytes.subarray(at) : Buffer.concat([this.#pending, bytes.subarray(at)])
      end = input.indexOf(0x0a, before)
      if (end < 0) return this.#hold(input, LARGEST_CHUNK_LINE, bytes.length)
      this.#pending = null
      line = input.toString('latin1', 0, end + 1)
      next = at + end + 1 - before
    }
    if (!line.endsWith('\r\n')) throw new NotHttp('a line between chunks ends with a bare LF')
    this.#takeLine(line.slice(0, -2))
    return next
  }

  #takeLine(line: string): void {
    switch (this.#state) {
      case 'chunk-end':
        if (line !== '') throw new NotHttp('a chunk is longer than it said')
        this.#state = 'chunk-size'
        return
      case 'chunk-size': {
        const size = /^([0-9a-f]{1,13})[\t ]*(?:;.*)?$/i.exec(line)
        if (!size) throw new NotHttp('the size of a chunk is not a number')
        return this.#takeSize(Number.parseInt(size[1]!, 16))
      }
      default:
        if ((this.#trailer += line.length + 2) > LARGEST_HEAD)
          throw new NotHttp('the trailer of the answer is too long')
        if (line === '') this.#state = 'over'
    }
  }

  #takeSize(size: number): void {
    this.#remaining = size
    this.#state = size === 0 ? 'trailer' : 'chunk-data'
  }

  #hold(unread: Buffer, most: number, next: number): number {
    if (unread.length > most) throw new NotHttp('a line or head of the answer is too long')
    this.#pending = unread
    return next
  }
}

/** Parses header lines to lower-case names (RFC 9112, 5). Throws on anything that could hide another header. */
function readFields(text: string, from: number): IncomingHttpHeaders {
  // No prototype: a header may be named `constructor`.
  const headers: Record<string, string | string[]> = Object.create(null) as Record<string, string | string[]>
  let at = from
  while (at < text.length) {
    let end = text.indexOf('\r\n', at)
    if (end < 0) end = text.length
    const colon = text.indexOf(':', at)
    if (colon <= at || colon >= end) throw new NotHttp('a header of the answer has no name')
    const name = nameOf(text.slice(at, colon))
    const value = trimRange(text, colon + 1, end)
    const before = headers[name]
    if (before === undefined) headers[name] = value
    else if (name === 'content-length') {
      if (before !== value) throw new NotHttp('the answer has two lengths')
    } else if (name === 'transfer-encoding' || name === 'connection') headers[name] = `${String(before)}, ${value}`
    else if (Array.isArray(before)) before.push(value)
    else headers[name] = [before, value]
    at = end + 2
  }
  return headers
}

// Providers send the same few names.
const names = new Map<string, string>()
const MAX_NAMES = 1_024

function nameOf(rawName: string): string {
  const cachedName = names.get(rawName)
  if (cachedName !== undefined) return cachedName
  const name = rawName.toLowerCase()
  if (!TOKEN.test(name)) throw new NotHttp('a header of the answer has no proper name')
  if (names.size >= MAX_NAMES) names.clear()
  // A slice would retain the whole head.
  names.set(Buffer.from(rawName).toString(), name)
  return name
}

const TOKEN = /^[!#$%&'*+.^_`|~0-9a-z-]+$/

function trimRange(text: string, from: number, to: number): string {
  while (from < to && (text.charCodeAt(from) === 0x20 || text.charCodeAt(from) === 0x09)) from++
  while (to > from && (text.charCodeAt(to - 1) === 0x20 || text.charCodeAt(to - 1) === 0x09)) to--
  const value = text.slice(from, to)
  if (CONTROL.test(value)) throw new NotHttp('a header of the answer holds control characters')
  return value
}

// eslint-disable-next-line no-control-regex -- these are what is looked for
const CONTROL = /[\0-\x08\x0a-\x1f\x7f]/
