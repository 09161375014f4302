import { isUtf8 } from 'node:buffer'

/**
 * The file name in a form part's `Content-Disposition`, given as a byte string. Browsers write quotes as `%22`, CR as
 * `%0D`, LF as `%0A`, and leave backslashes and `%` alone (HTML, multipart/form-data encoding). Other clients escape
 * quotes with backslashes (RFC 2183), don't escape them, or send `filename*` (RFC 8187), which takes precedence. Null:
 * no name. Undefined: unreadable, neither UTF-8 nor declared as ISO 8859-1.
 */
export function partNameIn(disposition: string): string | null | undefined {
  const [opening] = /;[ \t]*filename[ \t]*=[ \t]*(?:"|(?=[^"]))/i.exec(disposition) ?? []
  const start = opening === undefined ? disposition.length : disposition.indexOf(opening)
  const value = disposition.slice(start + (opening ?? '').length)
  const size = opening?.endsWith('"') ? quotedSize(value) : /^[^;]*/.exec(value)![0].length
  // Outside the quoted name, which may itself look like a parameter.
  const others = `${disposition.slice(0, start)} ${value.slice(size)}`
  const [, charset, encodedName] =
    /;[ \t]*filename\*[ \t]*=[ \t]*"?([\w!#$%&+^`{}~.-]+)'[\w-]*'([^;" \t]*)/i.exec(others) ?? []
  if (charset !== undefined) return decodedExtended(charset, encodedName!)
  if (opening === undefined) return null
  const prefix = value.slice(0, size)
  if (!opening.endsWith('"')) return decodedBytes(prefix.trimEnd())
  // Browsers never send a quote, so clients that escape quotes also escape backslashes.
  const plain = prefix.includes('\\"') ? prefix.replaceAll(/\\(["\\])/g, '$1') : prefix
  return decodedBytes(plain.replaceAll('%22', '"').replaceAll('%0D', '\r').replaceAll('%0A', '\n'))
}

/** A quote ends the name if another parameter or nothing follows. */
function quotedSize(value: string): number {
  const end = /"[ \t]*(?:;[ \t]*)?(?:$|(?<=;[ \t]*)[\w!#$%&+^`|~.*-]+[ \t]*=)/.exec(value)
  return end?.index ?? value.length
}

function decodedBytes(text: string): string | undefined {
  const bytes = Buffer.from(text, 'latin1')
  return isUtf8(bytes) ? bytes.toString() : undefined
}

function decodedExtended(charset: string, value: string): string | undefined {
  if (/%(?![\da-f]{2})/i.test(value)) return undefined
  const text = value.replaceAll(/%(..)/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
  if (/^utf-?8$/i.test(charset)) return decodedBytes(text)
  return /^iso-8859-1$/i.test(charset) ? text : undefined
}
