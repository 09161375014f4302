import { isUtf8 } from 'node:buffer'
import { likeliest, unmarkedUtf16 } from './detect.ts'

/**
 * Returns a text's encoding by its WHATWG name, or null for binary data. Precedence: byte order mark, `label` from the
 * sender, valid UTF-8, `within` the document, detection. Used for reading, grep, search, and downloads. `isCut`: more
 * bytes follow.
 */
export function charsetOf(
  bytes: Uint8Array,
  { label, within, isCut = false }: { label?: string | undefined; within?: string | undefined; isCut?: boolean } = {},
): string | null {
  const markedCharset = charsetOfMark(bytes) ?? labelOf(label)
  if (markedCharset !== null) return markedCharset
  if (hasNul(bytes)) return unmarkedUtf16(bytes, isCut)
  const isUnicode = isUtf8Up(bytes, isCut)
  if (hasControls(bytes)) return unmarkedUtf16(bytes, isCut) ?? (isUnicode ? 'utf-8' : null)
  if (isUnicode) return isStateful(bytes) ? 'iso-2022-jp' : 'utf-8'
  return labelOf(within) ?? (isMostlyUtf8(bytes) ? 'utf-8' : likeliest(bytes))
}

export function isText(bytes: Uint8Array, isCut: boolean): boolean {
  if (charsetOfMark(bytes) !== null) return true
  if (hasNul(bytes)) return unmarkedUtf16(bytes, isCut) !== null
  return isUtf8Up(bytes, isCut) || !hasControls(bytes) || unmarkedUtf16(bytes, isCut) !== null
}

const LOOKED_AT = 8_192
const hasNul = (bytes: Uint8Array): boolean => bytes.subarray(0, LOOKED_AT).includes(0)

/** Decodes by `charsetOf`; binary data as windows-1252. */
export function decode(bytes: Uint8Array, label?: string, within?: string): string {
  return new TextDecoder(charsetOf(bytes, { label, within }) ?? 'windows-1252').decode(bytes)
}

function labelOf(label: string | undefined): string | null {
  if (label === undefined) return null
  try {
    return new TextDecoder(label.trim()).encoding
  } catch {
    return null
  }
}

export function charsetOfMark(bytes: Uint8Array): string | null {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return 'utf-8'
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le'
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be'
  return null
}

export function isUtf8Up(head: Uint8Array, isCut: boolean): boolean {
  if (isUtf8(head)) return true
  if (!isCut) return false
  let at = head.length - 1
  while (at > 0 && at > head.length - 4 && (head[at]! & 0xc0) === 0x80) at--
  return isUtf8(head.subarray(0, Math.max(0, at)))
}

const textControls = new Set([8, 9, 10, 12, 13, 27])
const hasControls = (bytes: Uint8Array): boolean =>
  bytes.subarray(0, LOOKED_AT).some((byte) => byte < 32 && !textControls.has(byte))

const ESCAPE = String.fromCharCode(27)

/** ISO-2022-JP: seven-bit with escape sequences. */
function isStateful(bytes: Uint8Array): boolean {
  if (!bytes.includes(27)) return false
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, 65_536)).toString('latin1')
  return head.split(ESCAPE).some((part) => /^\$[@B][!-~]{2}/.test(part)) && !/[\u0080-\u00ff]/.test(head)
}

/** With this many valid characters, a damaged byte doesn't suggest another encoding. */
const MIN_RIGHT = 20
function isMostlyUtf8(bytes: Uint8Array): boolean {
  let right = 0
  let wrong = 0
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!
    if (byte < 0x80) continue
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2
    if (isUtf8(bytes.subarray(at, at + length))) {
      right++
      at += length - 1
    } else wrong++
  }
  return right > wrong * MIN_RIGHT
}

/** The charset declared in a page's first kilobytes (`<meta charset>`, `<?xml encoding?>`). */
export function charsetWithin(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, 4_096)).toString('latin1')
  return /<meta[^>]{0,200}charset\s*=\s*["']?([\w:.-]{2,40})|^<\?xml[^>]{0,200}encoding\s*=\s*["']([\w:.-]{2,40})/i
    .exec(head)
    ?.slice(1)
    .find((label) => label !== undefined)
}
