import { type Core, GROUND, LAST_STATE_THAT_EXECUTES } from './internals.ts'

const ESC = 0x1b
/** More than any program sends in one sequence, but for pictures. */
const MOST = 4 * 1_048_576

/**
 * The bytes of a sequence, or of a character, that was half received: what a snapshot ends with, so that the rest means the
 * same to whoever got the snapshot.
 */
export class Pending {
  #parts: Buffer[] = []
  #length = 0

  /** To be called after the parser has taken `slice`. */
  taken(slice: Buffer, { _inputHandler: { _parser, _utf8Decoder } }: Core): void {
    if (_parser.currentState === GROUND) {
      const { interim } = _utf8Decoder
      const length = interim.indexOf(0)
      this.#set(interim[0] === 0 ? [] : [Buffer.from(interim.subarray(0, length < 0 ? interim.length : length))])
      return
    }
    // Where the last slice ended within the two bytes of an introducer, they are looked for together.
    const whole = this.#length > 0 && this.#length < 4 ? Buffer.concat([...this.#parts, slice]) : slice
    const at = lastIntroducer(whole)
    if (at >= 0) this.#set([Buffer.from(whole.subarray(at))])
    else if (this.#length + slice.length <= MOST) this.#set([...this.#parts, Buffer.from(slice)])
  }

  bytes({ _inputHandler: { _parser } }: Core): Buffer {
    const all = Buffer.concat(this.#parts)
    const { currentState } = _parser
    if (currentState === GROUND || currentState > LAST_STATE_THAT_EXECUTES) return all
    return all.filter((byte, at) => at === 0 || byte >= 0x20) as Buffer
  }

  #set(parts: Buffer[]): void {
    this.#parts = parts
    this.#length = parts.reduce((sum, { length }) => sum + length, 0)
  }
}

/** ESC, or one of the characters U+0090, 98, 9B, 9D, 9E, 9F, which begin a sequence by themselves. */
function lastIntroducer(bytes: Buffer): number {
  let at = bytes.lastIndexOf(ESC)
  for (const second of [0x90, 0x98, 0x9b, 0x9d, 0x9e, 0x9f])
    at = Math.max(at, bytes.lastIndexOf(Buffer.of(0xc2, second)))
  return at
}
