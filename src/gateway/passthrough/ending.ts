import { endOfValue } from '../model/json-bytes.ts'
import type { PassthroughFormat } from './formats/format.ts'
import { type Reading, emptyReading } from '../model/in-progress.ts'
import { parseJson } from '../model/json.ts'

/** Enough for any provider's last events. */
const KEPT = 8_192

/** Keeps the end of a long stream by reference: at least 8 KiB if there is that much. */
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
