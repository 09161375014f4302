import { refuse } from '#core/errors.ts'

export interface Part {
  start: number
  /** Exclusive. Null: until the end of the body. */
  end: number | null
  /** Null while unknown. */
  size: number | null
}

/**
 * Parses `Content-Range: bytes 0-99/300` (RFC 9110, 14.4). Default: the whole file. `bytes 0-99/*` has an unknown size;
 * `bytes *\/300` adds no bytes to a complete upload.
 */
export function parseContentRange(header: string | undefined, length: number | null): Part {
  if (header === undefined) return { start: 0, end: null, size: length }
  const [, whole] = /^bytes\s+\*\/(\d{1,15})$/i.exec(header.trim()) ?? []
  if (whole !== undefined) {
    if (length !== null && length > 0)
      refuse('invalid_parameter', { param: 'Content-Range', message: '`bytes */SIZE` must be sent without a body.' })
    return { start: Number(whole), end: Number(whole), size: Number(whole) }
  }
  const [, first, last, total] = /^bytes\s+(\d{1,15})-(\d{1,15})\/(\d{1,15}|\*)$/i.exec(header.trim()) ?? []
  const [start, end] = [Number(first), Number(last) + 1]
  const size = total === '*' ? null : Number(total)
  if (first === undefined || end <= start || (size !== null && end > size))
    return refuse('invalid_parameter', {
      param: 'Content-Range',
      message: '`Content-Range` must look like `bytes 100-299/300`: the first and last byte sent, and the total size.',
    })
  if (length !== null && length !== end - start)
    return refuse('invalid_parameter', {
      param: 'Content-Range',
      message: `\`Content-Range\` declares ${end - start} bytes, but \`Content-Length\` is ${length}.`,
    })
  return { start, end, size }
}
