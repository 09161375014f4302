import { refuse } from '../errors.ts'

/** Refuses a body that `JSON.parse` threw at: with what is wrong and where, but not the engine's message, which quotes the body. */
export const refuseJson = (error: unknown): never =>
  refuse('malformed_json', { message: `The body is not well-formed JSON: ${jsonFault(error)}.` })

/** What is wrong, by the beginning of the engine's message. */
const faults: readonly (readonly [RegExp, string])[] = [
  [/^Unexpected end/, 'it ends too early'],
  [/^Unterminated string/, 'a string is not closed'],
  [/^Bad control character/, 'a control character in a string must be escaped, such as a line break as \\n'],
  [/^Bad (escaped character|Unicode escape)/, 'a string has an unknown escape'],
  [/^Expected property name/, 'a field name in double quotes is missing'],
  [/^Expected double-quoted/, 'a field name in double quotes is missing'],
  [/^Expected ':'/, 'a colon is missing after a field name'],
  [/^Expected ','/, 'a comma or a closing bracket is missing'],
  [/^Unexpected non-whitespace/, 'something follows the end of the JSON'],
  [/number/, 'a number is not written as JSON writes it'],
]

/** Why text is not JSON, and where as far as the engine tells, in words that start after a colon. */
export function jsonFault(error: unknown): string {
  const message = error instanceof SyntaxError ? error.message : ''
  const [token] = /(?<=^Unexpected token ').+?(?=',)/su.exec(message) ?? []
  const [, cause] = faults.find(([start]) => start.test(message)) ?? []
  const words = token === undefined ? (cause ?? 'it cannot be parsed') : `unexpected \`${token}\``
  const [place] = /\(line \d+ column \d+\)/.exec(message) ?? []
  return place === undefined ? words : `${words} ${place}`
}

/** Text up to here is parsed at once, whatever it holds. */
export const SMALL = 65_536
/** The most values of one JSON text: more than any conversation holds, or any input for embeddings. */
const MOST_VALUES = 1_000_000
const SHORT = 16

/**
 * Refuses JSON that nests deeper than so many lists and objects, or has more than a million values, before it is parsed: 32 MB
 * of nothing else keep `JSON.parse`, and so everybody, waiting for seconds. Of broken text any answer will do.
 */
export function checkShape(bytes: Buffer, deepest: number): void {
  const excess = excessOf(bytes, { values: MOST_VALUES, depth: deepest })
  if (excess !== null) refuse('malformed_json', { message: `The body holds ${excess}.` })
}

/**
 * Says in words what of JSON that came from outside is beyond these bounds, before it is parsed; null: nothing is. Short
 * text is always within them.
 */
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
      if (++depth > deepest) return `JSON that nests deeper than ${deepest} levels`
    }
  }
  return values > mostValues ? `more than ${mostValues} values` : null
}

/** The most values of JSON that another server answers with, and how deep they nest: parsing it holds up everyone else. */
export const FOREIGN: JsonBounds = { values: 100_000, depth: 512 }

/** Parses JSON that another server answered with; undefined: it is none, or is beyond the bounds. */
export function parseForeign(text: Buffer | string, bounds: JsonBounds = FOREIGN): unknown {
  if (excessOf(text, bounds) !== null) return undefined
  try {
    return JSON.parse(text.toString()) as unknown
  } catch {
    return undefined
  }
}

/**
 * Counts the values of JSON that comes in pieces, also within server-sent events: a line's end ends a string, which no
 * quote in a comment can then hide the rest in.
 */
export class ValueCounter {
  #inString = false
  #escaped = false

  /** Reads the next piece. Returns how many values begin in it. */
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

/** The place of the closing quote; the end of the text where there is none. Short strings cost less than looking for their end does. */
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
