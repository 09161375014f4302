import { refuse } from '#core/errors.ts'

/** The part of a file that a request carries. */
export interface Part {
  start: number
  /** The end, exclusive; null: to the end of the body. */
  end: number | null
  /** The size of the whole file; null where nobody knows yet. */
  size: number | null
}

/**
 * Reads `Content-Range: bytes 0-99/300` (RFC 9110, 14.4); the whole file where there is none. `bytes 0-99/*` is of a
 * size not known yet, `bytes *\/300` nothing more of one that has come whole.
 */
export function partIn(header: string | undefined, length: number | null): Part {
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
