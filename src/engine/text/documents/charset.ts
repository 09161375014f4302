import { isUtf8 } from 'node:buffer'

/**
 * Bytes → text. A byte order mark wins, then what the sender named, then what the document says of itself, then UTF-8
 * if it is that, else windows-1252 (what the WHATWG encoding standard takes for unlabelled western text).
 */
export function decode(bytes: Uint8Array, named?: string, within?: string): string {
  const marked = charsetOfMark(bytes)
  for (const label of [marked, named, within]) {
    const decoder = label === undefined || label === null ? null : decoderOf(label)
    if (decoder !== null) return decoder.decode(bytes)
  }
  return (isUtf8(bytes) ? new TextDecoder() : new TextDecoder('windows-1252')).decode(bytes)
}

function decoderOf(label: string): InstanceType<typeof TextDecoder> | null {
  try {
    return new TextDecoder(label.trim())
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

/** The charset that a page names in its first kilobytes (`<meta charset>`, `<?xml encoding?>`). */
export function charsetWithin(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, 4_096)).toString('latin1')
  return /<meta[^>]{0,200}charset\s*=\s*["']?([\w:.-]{2,40})|^<\?xml[^>]{0,200}encoding\s*=\s*["']([\w:.-]{2,40})/i
    .exec(head)
    ?.slice(1)
    .find((label) => label !== undefined)
}
