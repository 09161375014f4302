/** Longer than any character people type, in UTF-16 units. */
const LONGEST_CHARACTER = 64
const LONGEST_ROW = 4_096

let characters: Intl.Segmenter | null = null

/**
 * Returns the start of a text, up to `most` UTF-16 units, without splitting a surrogate pair, a letter from its
 * accents, or an emoji sequence.
 */
export const shorten = (text: string, most: number): string =>
  text.length <= most ? text : text.slice(0, characterStart(text, most))

export function shortenBytes(text: string, most: number): string {
  if (text.length * 3 <= most) return text
  const bytes = new TextEncoder().encode(text)
  if (bytes.length <= most) return text
  let end = Math.max(0, most)
  // Continuation bytes have the form 10xxxxxx.
  while (end > 0 && (bytes[end]! & 0xc0) === 0x80) end--
  return shorten(text, new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes.subarray(0, end)).length)
}

/** Returns the last character boundary at or before `at`. Overlong characters are split between code points. */
export function characterStart(text: string, at: number): number {
  if (at <= 0) return 0
  if (at >= text.length) return text.length
  let from = betweenPoints(text, Math.max(0, at - 2 * LONGEST_CHARACTER))
  // Flags are pairs of letters, so a row is counted from its start.
  while (from > 0 && at - from < LONGEST_ROW && /^[\u{1F1E6}-\u{1F1FF}]/u.test(text.slice(from, from + 2))) from -= 2
  characters ??= new Intl.Segmenter('en', { granularity: 'grapheme' })
  const near = characters.segment(text.slice(from, at + 2 * LONGEST_CHARACTER))
  const start = from + near.containing(at - from)!.index
  return (start === from && from > 0) || at - start > LONGEST_CHARACTER ? betweenPoints(text, at) : start
}

const betweenPoints = (text: string, at: number): number =>
  at > 0 && /[\uD800-\uDBFF]/.test(text[at - 1]!) && /[\uDC00-\uDFFF]/.test(text.charAt(at)) ? at - 1 : at
