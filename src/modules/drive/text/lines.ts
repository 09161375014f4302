export const MAX_LINE_BYTES = 65_536
/** A longer response ends early. */
export const MAX_TEXT_BYTES = 8 << 20

export interface Line {
  /** Starts at 1. */
  number: number
  text: string
  cut: boolean
}

/** Encodings with one byte per character, at least for ASCII. */
const isSingleByte = (encoding: string): boolean => /^(windows|iso-8859|koi8|ibm|macintosh|x-mac)/.test(encoding)

/** Whether lines can be split without decoding. */
export const isPlain = (encoding: string): boolean => encoding === 'utf-8' || isSingleByte(encoding)

type Parts = AsyncIterable<Uint8Array>

/**
 * Calls back for each line: `want` decides by number whether to decode it, and `take` returns whether to continue.
 * Lines end with `\n` or `\r\n`; none follows the last one. Returns the number of lines.
 */
export async function eachLine(
  parts: Parts,
  encoding: string,
  want: (number: number) => boolean,
  take: (line: Line) => boolean,
): Promise<number> {
  const bytes = isPlain(encoding) ? parts : transcoded(parts, encoding)
  const decoder = new TextDecoder(isPlain(encoding) ? encoding : 'utf-8', { ignoreBOM: true })
  let number = 0
  let isStarted = false
  let pieces: Buffer[] = []
  let length = 0

  const keep = (piece: Buffer, isReused: boolean) => {
    if (want(number + 1) && length <= MAX_LINE_BYTES + 1) {
      const some = piece.subarray(0, MAX_LINE_BYTES + 1 - length)
      pieces.push(isReused ? Buffer.from(some) : some)
    }
    length += piece.length
  }
  const end = (): boolean => {
    number += 1
    const isWanted = want(number)
    let line = !isWanted ? null : pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)
    const cut = length > MAX_LINE_BYTES
    pieces = []
    length = 0
    isStarted = false
    if (line === null) return true
    if (cut) line = line.subarray(0, wholeUpTo(line, MAX_LINE_BYTES, encoding))
    else if (line.at(-1) === 13) line = line.subarray(0, -1)
    if (number === 1 && !isSingleByte(encoding) && line[0] === 0xef && line[1] === 0xbb && line[2] === 0xbf)
      line = line.subarray(3)
    return take({ number, text: decoder.decode(line), cut })
  }

  for await (const part of bytes) {
    const buffer = Buffer.from(part.buffer, part.byteOffset, part.length)
    let at = 0
    for (;;) {
      const stop = buffer.indexOf(10, at)
      if (stop < 0) break
      keep(buffer.subarray(at, stop), false)
      at = stop + 1
      if (!end()) return number
    }
    if (at === buffer.length) continue
    keep(buffer.subarray(at), true)
    isStarted = true
  }
  if (isStarted) end()
  return number
}

/** The last position up to `most` that doesn't split a UTF-8 character. */
function wholeUpTo(line: Uint8Array, most: number, encoding: string): number {
  if (isSingleByte(encoding)) return most
  let at = most
  while (at > 0 && (line[at]! & 0xc0) === 0x80) at--
  return at
}

async function* transcoded(parts: Parts, encoding: string): AsyncGenerator<Uint8Array> {
  const decoder = new TextDecoder(encoding)
  for await (const part of parts) yield Buffer.from(decoder.decode(part, { stream: true }))
  yield Buffer.from(decoder.decode())
}

/** Counts lines as `eachLine` does and records where some start, to find the end of a huge file quickly. */
export async function countLines(parts: Parts): Promise<{ total: number; marks: { line: number; byte: number }[] }> {
  const marks = [{ line: 1, byte: 0 }]
  let lines = 0
  let at = 0
  let last = 10
  for await (const part of parts) {
    const buffer = Buffer.from(part.buffer, part.byteOffset, part.length)
    const first = buffer.indexOf(10)
    if (first >= 0) marks.push({ line: lines + 2, byte: at + first + 1 })
    for (let stop = first; stop >= 0; stop = buffer.indexOf(10, stop + 1)) lines += 1
    at += buffer.length
    last = buffer.at(-1) ?? last
  }
  return { total: lines + (last === 10 ? 0 : 1), marks }
}
