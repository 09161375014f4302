import { refuse } from '../errors.ts'
import { shorten } from './shorten.ts'

/** Refuses a body that `JSON.parse` threw at, in its words: they say where it stopped. */
export const refuseJson = (error: unknown): never =>
  refuse('malformed_json', {
    message: shorten(`The body is not well-formed JSON: ${error instanceof Error ? error.message : ''}`, 200),
  })

/** Text up to here is parsed at once, whatever it holds. */
const SMALL = 65_536
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

export interface JsonBounds {
  values: number
  depth: number
}

/** The place of the closing quote; the end of the text where there is none. Short strings cost less than looking for their end does. */
function lastOfString(bytes: Buffer, at: number): number {
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
