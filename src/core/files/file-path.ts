/**
 * File paths as text. Systems store paths as bytes that may not be UTF-8. Those are shown as a `file:` URI (RFC 8089)
 * with percent-encoded bytes, which can't be confused with an absolute path, so every listed path can be used as input.
 */
import { refuse } from '../errors.ts'

const URI = 'file://'

export const pathText = (path: Buffer): string => (isUtf8(path) ? path.toString() : URI + percentEncoded(path))

export function pathBytes(text: string): Buffer {
  const bytes = text.startsWith(`${URI}/`) ? decodeText(text.slice(URI.length)) : Buffer.from(text)
  if (bytes[0] !== 0x2f || bytes.includes(0))
    refuse('invalid_parameter', {
      param: 'path',
      message:
        'Use an absolute path, such as /home/ada/notes.txt, or a `file:` URI such as file:///home/ada/caf%E9 for a path that isn’t UTF-8.',
    })
  return bytes
}

export const nameText = (name: Buffer): string => (isUtf8(name) ? name.toString() : percentEncoded(name))

export const isUtf8 = (bytes: Buffer): boolean => Buffer.from(bytes.toString()).equals(bytes)

/** RFC 3986, 3.3: characters that need no encoding in a path. */
const PLAIN = /[A-Za-z0-9\-._~!$&'()*+,;=:@/]/

function percentEncoded(bytes: Buffer): string {
  let text = ''
  for (const byte of bytes) {
    const letter = String.fromCharCode(byte)
    text += PLAIN.test(letter) ? letter : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
  }
  return text
}

function decodeText(text: string): Buffer {
  if (/%(?![0-9A-Fa-f]{2})/.test(text) || /[?#]/.test(text))
    refuse('invalid_parameter', {
      param: 'path',
      message: 'In a `file:` URI, `%` must be followed by two hexadecimal digits. Write `?` as `%3F` and `#` as `%23`.',
    })
  const parts = text.split(/(%[0-9A-Fa-f]{2})/)
  return Buffer.concat(
    parts.map((part) => (part.startsWith('%') ? Buffer.from(part.slice(1), 'hex') : Buffer.from(part))),
  )
}
