import { variants } from './automaton.ts'
import type { Need } from './needs.ts'

/**
 * Trigrams: three consecutive UTF-8 bytes as a number, ASCII letters in lower case. A text contains a word only if it
 * contains its trigrams, so an index shows which texts to skip.
 */
const MAX_GRAMS = 40_000
const LF = 10
const lower = Uint8Array.from({ length: 256 }, (_, byte) => (byte >= 65 && byte <= 90 ? byte + 32 : byte))

/** A trigram is present if its mark equals the current round, so the table is never cleared. 64 MiB once allocated. */
let roundMarks: Uint32Array | null = null
let round = 0

/** A text's distinct trigrams, or null if there are too many to be useful. */
export function gramsOf(bytes: Uint8Array): Int32Array | null {
  roundMarks ??= new Uint32Array(1 << 24)
  if (++round === 0xffff_ffff) {
    roundMarks.fill(0)
    round = 1
  }
  const grams = new Int32Array(Math.min(MAX_GRAMS, bytes.length * 2) + 1)
  let count = gather(bytes, grams, 0)
  // Two letters beyond ASCII fold to ASCII (U+017F, U+212A) and count as those letters too.
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (count >= 0 && (buffer.includes('\u017f') || buffer.includes('\u212a')))
    count = gather(Buffer.from(buffer.toString().replaceAll('\u017f', 's').replaceAll('\u212a', 'k')), grams, count)
  return count < 0 ? null : grams.subarray(0, count)
}

function gather(bytes: Uint8Array, grams: Int32Array, count: number): number {
  const marks = roundMarks!
  let gram = 0
  // Bytes since the last line break: trigrams never span lines, because words don't.
  let run = 0
  for (const byte of bytes) {
    if (byte === LF) {
      run = 0
      continue
    }
    gram = ((gram << 8) | lower[byte]!) & 0xff_ffff
    if (++run < 3 || marks[gram] === round) continue
    if (count >= MAX_GRAMS || count >= grams.length) return -1
    marks[gram] = round
    grams[count++] = gram
  }
  return count
}

/** An index query: trigrams that must all be present, or alternatives. Null: no condition. */
export type GramQuery = null | { grams: number[] } | { all: GramQuery[] } | { any: GramQuery[] }

export function gramQuery(need: Need, fold: boolean): GramQuery {
  if (need === null) return null
  if ('word' in need) {
    const grams = new Set(pieces(need.word, fold).flatMap((piece) => Array.from(gramsOfWord(Buffer.from(piece)))))
    return grams.size === 0 ? null : { grams: [...grams] }
  }
  const any = 'any' in need
  const queries = (any ? need.any : need.all).map((one) => gramQuery(one, fold))
  if (any) return queries.includes(null) ? null : { any: queries }
  const active = queries.filter((query) => query !== null)
  return active.length === 0 ? null : { all: active }
}

function* gramsOfWord(bytes: Uint8Array): Generator<number> {
  for (let i = 2; i < bytes.length; i++)
    if (bytes[i] !== LF && bytes[i - 1] !== LF && bytes[i - 2] !== LF)
      yield (lower[bytes[i - 2]!]! << 16) | (lower[bytes[i - 1]!]! << 8) | lower[bytes[i]!]!
}

/** When ignoring case, letters beyond ASCII may have other forms, so words are split there. */
function pieces(word: string, fold: boolean): string[] {
  if (!fold) return [word]
  const parts = ['']
  for (const char of word)
    if (char.codePointAt(0)! > 127 && variants(char.codePointAt(0)!, true).length > 1) parts.push('')
    else parts[parts.length - 1] += char
  return parts
}
