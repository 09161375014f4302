import { charsetOf, charsetWithin, decode } from '../charset/charset.ts'
import { type DocumentInput, type DocumentText, Unreadable, plainRead, clip } from './document.ts'

const LOOKED_AT = 8_192

/** Binary if there is a NUL byte near the start and it isn't UTF-16, the same rule as grep's. */
export const looksBinary = (bytes: Uint8Array): boolean =>
  bytes.subarray(0, LOOKED_AT).includes(0) && !charsetOf(bytes)?.startsWith('utf-16')

export function readText({ bytes, charset }: DocumentInput): DocumentText {
  if (looksBinary(bytes)) throw new Unreadable('binary', 'The content is binary data.')
  const { text, truncated } = clip(decode(bytes, charset, charsetWithin(bytes)))
  return plainRead(text.replaceAll('\0', ''), { truncated })
}
