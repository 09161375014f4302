/**
 * A reader of answers that knows RFC 9112 and nothing of this server: written from the text of the standard alone, so that
 * it shares no mistake with whoever wrote the bytes. It is stricter than a client would be: what a server MUST NOT send is
 * a fault here, though most clients would bear it.
 */
export interface Answer {
  status: number
  /** Lower-case names, in the order in which they came. */
  fields: [name: string, value: string][]
  /** Without the framing. */
  body: Buffer
  /** The number of interim answers (1xx) before it. */
  interim: number
  /** It says that it is the last one of its connection. */
  closes: boolean
}

/** The bytes on the wire are not an answer. */
export class NotAnAnswer extends Error {}

/** The answer is not whole yet; the bytes so far are in order. */
export const UNFINISHED = 'unfinished'

/** The answer at the start of `bytes` to a request by `method`, and how many bytes it takes. `ended`: no more will come. */
export function readAnswer(
  bytes: Buffer,
  method: string,
  ended = false,
): { answer: Answer; length: number } | typeof UNFINISHED {
  let at = 0
  for (let interim = 0; ; interim++) {
    const head = readHead(bytes, at)
    if (head === UNFINISHED) return ended ? fault('the connection ends within a head', bytes, at) : UNFINISHED
    const { status, fields } = head
    if (status < 200) {
      if (status === 101) fault('101 was not asked for', bytes, at)
      for (const name of ['content-length', 'transfer-encoding'])
        if (head.first(name) !== null) fault(`a ${status} has ${name} (RFC 9110, 8.6; RFC 9112, 6.1)`, bytes, at)
      at = head.end
      continue
    }
    const framed = readBody(bytes, head, method, ended)
    if (framed === UNFINISHED) return UNFINISHED
    const closes = (head.first('connection') ?? '')
      .toLowerCase()
      .split(/\s*,\s*/)
      .includes('close')
    if (framed.untilClose && !closes) fault('only the end of the connection ends it, and it does not say so', bytes, at)
    return { answer: { status, fields, body: framed.body, interim, closes }, length: framed.end }
  }
}

interface Head {
  status: number
  fields: [string, string][]
  end: number
  first(name: string): string | null
}

const STATUS_LINE = /^HTTP\/1\.1 ([1-5]\d\d) [\t\x20-\x7e\x80-\xff]*$/
const FIELD_LINE =
  /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[\t ]*((?:[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?)?)[\t ]*$/
/** One value each; the rest are lists, or `Set-Cookie`. */
const ONCE =
  /^(content-(length|type|range|location|encoding|disposition)|transfer-encoding|connection|date|etag|location|retry-after|last-modified|server|x-request-id|x-service-version|cache-control|access-control-allow-origin)$/

function readHead(bytes: Buffer, start: number): Head | typeof UNFINISHED {
  const begins = bytes.toString('latin1', start, start + 9)
  if (!'HTTP/1.1 '.startsWith(begins)) fault('an answer does not begin with its version', bytes, start)
  const close = bytes.indexOf('\r\n\r\n', start, 'latin1')
  if (close < 0) return UNFINISHED
  const [line = '', ...lines] = bytes.toString('latin1', start, close).split('\r\n')
  const status = STATUS_LINE.exec(line)?.[1] ?? fault('the status line is not one', bytes, start)
  const fields = lines.map((text): [string, string] => {
    const field = FIELD_LINE.exec(text) ?? fault(`this is not a field: ${JSON.stringify(text)}`, bytes, start)
    return [field[1]!.toLowerCase(), field[2]!]
  })
  const seen = new Set<string>()
  for (const [name] of fields) {
    if (ONCE.test(name) && seen.has(name)) fault(`${name} stands twice`, bytes, start)
    seen.add(name)
  }
  return {
    status: Number(status),
    fields,
    end: close + 4,
    first: (name) => fields.find(([known]) => known === name)?.[1] ?? null,
  }
}

interface Framed {
  body: Buffer
  end: number
  untilClose?: true
}

/** RFC 9112, 6.3, in its order. */
function readBody(bytes: Buffer, head: Head, method: string, ended: boolean): Framed | typeof UNFINISHED {
  const { status, end } = head
  const coding = head.first('transfer-encoding')
  const length = head.first('content-length')
  if (coding !== null && length !== null) fault('it has a length and a transfer coding (6.2)', bytes, end)
  if (length !== null && !/^\d+$/.test(length)) fault('its length is not a number', bytes, end)
  if (coding !== null && coding.toLowerCase() !== 'chunked') fault(`the coding ${coding} was not asked for`, bytes, end)
  if (status === 204 && (coding ?? length) !== null) fault('a 204 has a length or a coding (RFC 9110, 8.6)', bytes, end)
  if (method === 'HEAD' || status === 204 || status === 304) return { body: Buffer.alloc(0), end }
  if (coding !== null) return readChunks(bytes, end, ended)
  if (length !== null) {
    const last = end + Number(length)
    if (bytes.length >= last) return { body: bytes.subarray(end, last), end: last }
    return ended ? fault('the connection ends within a body', bytes, end) : UNFINISHED
  }
  return ended ? { body: bytes.subarray(end), end: bytes.length, untilClose: true } : UNFINISHED
}

/** RFC 9112, 7.1. */
function readChunks(bytes: Buffer, start: number, ended: boolean): Framed | typeof UNFINISHED {
  const missing = (): typeof UNFINISHED =>
    ended ? fault('the connection ends before the last chunk', bytes, start) : UNFINISHED
  const parts: Buffer[] = []
  for (let at = start; ;) {
    const line = bytes.indexOf('\r\n', at, 'latin1')
    if (line < 0) return missing()
    const size = /^([0-9A-Fa-f]+)(?:[\t ]*;.*)?$/.exec(bytes.toString('latin1', at, line))?.[1]
    const length = Number.parseInt(size ?? fault('this is not the size of a chunk', bytes, at), 16)
    at = line + 2
    if (length === 0) {
      if (bytes.length < at + 2) return missing()
      // No trailers were asked for.
      if (bytes.toString('latin1', at, at + 2) !== '\r\n') fault('the last chunk is not the last', bytes, at)
      return { body: Buffer.concat(parts), end: at + 2 }
    }
    if (bytes.length < at + length + 2) return missing()
    if (bytes.toString('latin1', at + length, at + length + 2) !== '\r\n')
      fault('a chunk is longer than said', bytes, at)
    parts.push(bytes.subarray(at, at + length))
    at += length + 2
  }
}

function fault(what: string, bytes: Buffer, at: number): never {
  throw new NotAnAnswer(`${what}: ${JSON.stringify(bytes.toString('latin1', at, at + 200))}`)
}
