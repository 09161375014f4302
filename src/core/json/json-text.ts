import { refuse } from '../errors.ts'

/** Refuses a body that `JSON.parse` threw at: with what is wrong and where, but not the engine's message, which quotes the body. */
export const refuseJson = (error: unknown): never =>
  refuse('malformed_json', { message: `The request body isn’t valid JSON: ${jsonFault(error)}.` })

/** What is wrong, by the beginning of the engine's message. */
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

/** Why text is not JSON, and where as far as the engine tells, in words that start after a colon. */
export function jsonFault(error: unknown): string {
  const message = error instanceof SyntaxError ? error.message : ''
  const [token] = /(?<=^Unexpected token ').+?(?=',)/su.exec(message) ?? []
  const [, cause] = faults.find(([start]) => start.test(message)) ?? []
  const words = token === undefined ? (cause ?? 'it can’t be parsed') : `unexpected \`${token}\``
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
  if (excess !== null) refuse('malformed_json', { message: `The request body contains ${excess}.` })
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
      if (++depth > deepest) return `JSON nested more than ${deepest} levels deep`
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
