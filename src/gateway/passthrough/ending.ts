import { endOfValue } from '../model/json-bytes.ts'
import type { PassthroughFormat } from './formats/format.ts'
import { type Reading, emptyReading } from '../model/in-progress.ts'
import { parseJson } from '../model/json.ts'

/** The part of an answer's end that is kept for reading its usage: the last events of any provider fit. */
const KEPT = 8_192

/** The end of something long, by reference: at least 8 KiB of it where there is so much. */
export class Ending {
  readonly #pieces: Buffer[] = []
  length = 0

  push(piece: Buffer): void {
    this.#pieces.push(piece)
    this.length += piece.length
    while (this.length - this.#pieces[0]!.length >= KEPT) this.length -= this.#pieces.shift()!.length
  }

  bytes(): Buffer {
    return this.#pieces.length === 1 ? this.#pieces[0]! : Buffer.concat(this.#pieces)
  }
}

/** The facts at the end of a whole answer that was too long to be kept: its `usage` stands last. */
export function readEnding(format: PassthroughFormat, bytes: Buffer): Reading {
  const at = bytes.lastIndexOf('"usage"')
  const start = at < 0 ? -1 : bytes.indexOf(0x7b, at)
  let usage: unknown = null
  try {
    if (start >= 0) usage = parseJson(bytes.toString('utf8', start, endOfValue(bytes, start)))
  } catch {
    usage = null
  }
  return (
    format.readWhole({ type: 'message', content: [], choices: [], output: [], data: [], usage }) ?? {
      ...emptyReading(),
      ended: true,
    }
  )
}
