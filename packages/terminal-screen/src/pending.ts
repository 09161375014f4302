import { type Core, GROUND, LAST_STATE_THAT_EXECUTES } from './internals.ts'

const ESC = 0x1b
/** More than any sequence without an image has. */
const MAX = 4 * 1_048_576

/** The bytes of an incomplete sequence or character. A snapshot ends with them, so that the rest keeps its meaning. */
export class Pending {
  #parts: Buffer[] = []
  #length = 0

  /** Call after the parser has read `slice`. */
  taken(slice: Buffer, { _inputHandler: { _parser, _utf8Decoder } }: Core): void {
    if (_parser.currentState === GROUND) {
      const { interim } = _utf8Decoder
      const length = interim.indexOf(0)
      this.#set(interim[0] === 0 ? [] : [Buffer.from(interim.subarray(0, length < 0 ? interim.length : length))])
      return
    }
    // The last slice may have ended between the two bytes of an introducer.
    const whole = this.#length > 0 && this.#length < 4 ? Buffer.concat([...this.#parts, slice]) : slice
    const at = lastIntroducer(whole)
    if (at >= 0) this.#set([Buffer.from(whole.subarray(at))])
    else if (this.#length + slice.length <= MAX) this.#set([...this.#parts, Buffer.from(slice)])
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

/** ESC, or U+0090, 98, 9B, 9D, 9E or 9F, each of which starts a sequence. */
function lastIntroducer(bytes: Buffer): number {
  let at = bytes.lastIndexOf(ESC)
  for (const second of [0x90, 0x98, 0x9b, 0x9d, 0x9e, 0x9f])
    at = Math.max(at, bytes.lastIndexOf(Buffer.of(0xc2, second)))
  return at
}
