const faults: readonly (readonly [RegExp, string])[] = [
  [/^Unexpected end/, 'it ends unexpectedly'],
  [/^Unterminated string/, 'a string isn’t terminated'],
  [/^Bad control character/, 'control characters in strings must be escaped, such as \\\n for a line break'],
  [/^Bad (escaped character|Unicode escape)/, 'a string contains an invalid escape sequence'],
  [/^Expected property name/, 'expected a field name in double quotes'],
  [/^Expected double-quoted/, 'expected a field name in double quotes'],
  [/^Expected ':'/, 'expected a colon after a field name'],
  [/^Expected ','/, 'expected a comma or a closing bracket'],
  [/^Unexpected non-whitespace/, 'unexpected content after the end'],
  [/number/, 'a number is invalid'],
]

/** Describes why text isn't JSON, and where if the engine reports it. The result follows a colon. */
export function jsonFault(error: unknown): string {
  const message = error instanceof SyntaxError ? error.message : ''
  const [token] = /(?<=^Unexpected token ').+?(?=',)/su.exec(message) ?? []
  const [, cause] = faults.find(([start]) => start.test(message)) ?? []
  const words = token === undefined ? (cause ?? 'it can’t be parsed') : `unexpected \`${token}\``
  const [place] = /\(line \d+ column \d+\)/.exec(message) ?? []
  return place === undefined ? words : `${words} ${place}`
}

export const SMALL = 65_536
const SHORT = 16

/** Describes how foreign JSON exceeds the limits, before parsing; null if it doesn't. Short text never does. */
export function excessOf(text: Buffer | string, { values: mostValues, depth: deepest }: JsonBounds): string | null {
  if (text.length <= SMALL) return null
  const bytes = typeof text === 'string' ? Buffer.from(text) : text
  let depth = 0
  let values = 0
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!
    if (byte === 0x22) at = lastOfString(bytes, at)
    else if (byte === 0x2c) values++
    else if (byte === 0x7d || byte === 0x5d) depth--
    else if (byte === 0x7b || byte === 0x5b) {
      values++
      if (++depth > deepest) return `JSON nested more than ${deepest} levels deep`
    }
  }
  return values > mostValues ? `more than ${mostValues} values` : null
}

/** Limits for JSON from other servers, because parsing blocks the process. */
export const FOREIGN: JsonBounds = { values: 100_000, depth: 512 }

export function parseForeign(text: Buffer | string, bounds: JsonBounds = FOREIGN): unknown {
  if (excessOf(text, bounds) !== null) return undefined
  try {
    return JSON.parse(text.toString()) as unknown
  } catch {
    return undefined
  }
}

/**
 * Counts JSON values in a stream of chunks, including server-sent events: a line break ends a string, so a quote in a
 * comment can't hide the rest.
 */
export class ValueCounter {
  #inString = false
  #escaped = false

  push(bytes: Uint8Array): number {
    let count = 0
    for (const byte of bytes) {
      if (byte === 0x0a || byte === 0x0d) this.#inString = this.#escaped = false
      else if (this.#escaped) this.#escaped = false
      else if (this.#inString) {
        if (byte === 0x5c) this.#escaped = true
        else if (byte === 0x22) this.#inString = false
      } else if (byte === 0x22) this.#inString = true
      else if (byte === 0x2c || byte === 0x7b || byte === 0x5b) count++
    }
    return count
  }
}

export interface JsonBounds {
  values: number
  depth: number
}

/**
 * Returns the offset of the closing quote, or the end of the text. For short strings this loop is faster than a search.
 */
export function lastOfString(bytes: Buffer, at: number): number {
  const near = Math.min(bytes.length, at + SHORT)
  for (at++; at < near; at++) {
    if (bytes[at] === 0x5c) at++
    else if (bytes[at] === 0x22) return at
  }
  for (let quote = bytes.indexOf(0x22, at); quote >= 0; quote = bytes.indexOf(0x22, quote + 1)) {
    let slashes = 0
    while (quote - slashes > at && bytes[quote - 1 - slashes] === 0x5c) slashes++
    if (slashes % 2 === 0) return quote
  }
  return bytes.length
}
