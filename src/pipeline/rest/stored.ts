import type { IncomingHttpHeaders } from 'node:http'
import type { StoredBytes } from '#core/answers.ts'
import { refuse } from '#core/errors.ts'
import { names } from './reply.ts'

export interface StoredResponse {
  status: 200 | 206 | 304
  headers: Record<string, string>
  range: { start: number; end: number } | null
}

/** Preconditions and ranges (RFC 9110, 13 and 14), in the order of 13.2.2. Several ranges get the whole content. */
export function choose(storedBytes: StoredBytes, requestHeaders: IncomingHttpHeaders): StoredResponse {
  const { size, etag, modifiedAt } = storedBytes
  const headers: Record<string, string> = {
    etag,
    'last-modified': modifiedAt.toUTCString(),
    'accept-ranges': 'bytes',
  }
  const seconds = Math.floor(modifiedAt.getTime() / 1000) * 1000
  const ifMatch = requestHeaders['if-match']
  const unmodifiedSince = dateOf(requestHeaders['if-unmodified-since'])
  if (ifMatch !== undefined ? !names(ifMatch, etag, 'strongly') : unmodifiedSince !== null && seconds > unmodifiedSince)
    refuse('precondition_failed')
  const ifNoneMatch = requestHeaders['if-none-match']
  const since = dateOf(requestHeaders['if-modified-since'])
  if (ifNoneMatch !== undefined ? names(ifNoneMatch, etag, 'weakly') : since !== null && seconds <= since)
    return { status: 304, headers, range: null }
  const whole = { start: 0, end: size }
  const range = isSame(requestHeaders['if-range'], etag, seconds) ? rangeOf(requestHeaders.range, size) : null
  if (range === 'unsatisfiable')
    refuse('range_not_satisfiable', {
      message: `The range is outside the content, which has ${size} bytes.`,
      headers: { 'content-range': `bytes */${size}` },
    })
  if (range === null) return { status: 200, headers: { ...headers, 'content-length': String(size) }, range: whole }
  return {
    status: 206,
    headers: {
      ...headers,
      'content-length': String(range.end - range.start),
      'content-range': `bytes ${range.start}-${range.end - 1}/${size}`,
    },
    range,
  }
}

function dateOf(words: string | undefined): number | null {
  const at = words === undefined ? NaN : Date.parse(words)
  return Number.isNaN(at) ? null : at
}

const isSame = (ifRange: string | string[] | undefined, etag: string, modifiedMs: number): boolean =>
  ifRange === undefined ||
  (/^(W\/)?"/.test(String(ifRange)) ? ifRange === etag : dateOf(String(ifRange)) === modifiedMs)

/** Null if ignored: another unit, several ranges, or not a range. */
function rangeOf(header: string | undefined, size: number): { start: number; end: number } | 'unsatisfiable' | null {
  const [, first, last] = /^bytes=\s*(\d{0,15})\s*-\s*(\d{0,15})\s*$/i.exec(header ?? '') ?? []
  if (first === undefined || last === undefined || (first === '' && last === '')) return null
  if (first === '') {
    const suffix = Math.min(Number(last), size)
    return suffix === 0 ? 'unsatisfiable' : { start: size - suffix, end: size }
  }
  const start = Number(first)
  if (last !== '' && Number(last) < start) return null
  if (start >= size) return 'unsatisfiable'
  return { start, end: last === '' ? size : Math.min(Number(last) + 1, size) }
}
