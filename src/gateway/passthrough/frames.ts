import { Ending } from './ending.ts'
import { joinDataLines } from './join-data-lines.ts'

const LF = 0x0a
const CR = 0x0d
const BOM = Buffer.from('\uFEFF')
const LARGEST_HELD = 1 << 20

/**
 * Splits a stream of server-sent events at blank lines, so that only whole events pass and a broken stream can still
 * end with a readable frame. Output lines end with LF, whichever of the standard's three line ends the provider uses; a
 * byte order mark is dropped, and the data of an event is joined into one line. Other bytes never change, and nothing
 * is copied when the provider's pieces are whole events, as they usually are.
 * https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
 */
export class Frames {
  #held: Buffer[] = []
  #heldBytes = 0
  /** The last byte so far: a blank line may be cut anywhere. */
  #last = 0
  /** The last byte was a CR, which an LF may follow. */
  #afterCr = false
  /** First bytes that may be a byte order mark; null: decided. */
  #start: Buffer | null = Buffer.alloc(0)
  readonly #ending = new Ending()
  bytes = 0
  cut = false

  push(piece: Buffer): Buffer | null {
    const chunk = this.#lines(piece)
    if (chunk.length === 0) return null
    const end = this.#boundary(chunk)
    this.#last = chunk.at(-1)!
    if (end === 0) {
      this.#held.push(chunk)
      this.#heldBytes += chunk.length
      if (this.#heldBytes <= LARGEST_HELD) return null
      this.cut = true
      return this.#take()
    }
    const whole = end === chunk.length ? chunk : chunk.subarray(0, end)
    let out = whole
    if (this.#heldBytes > 0) {
      this.#held.push(whole)
      out = Buffer.concat(this.#held)
      this.#held = []
      this.#heldBytes = 0
    }
    if (end < chunk.length) {
      this.#held.push(chunk.subarray(end))
      this.#heldBytes = chunk.length - end
    }
    this.cut = false
    return this.#keep(joinDataLines(out))
  }

  rest(): Buffer | null {
    if (this.#start !== null && this.#start.length > 0) {
      this.#held.push(this.#start)
      this.#heldBytes += this.#start.length
    }
    this.#start = null
    return this.#heldBytes === 0 ? null : this.#take()
  }

  /** Returns the end of the stream so far, at least 8 KiB of whole events if there is that much. */
  tail(): string {
    return this.#ending.bytes().toString()
  }

  get tailBytes(): number {
    return this.#ending.length
  }

  #take(): Buffer {
    const out = Buffer.concat(this.#held)
    this.#held = []
    this.#heldBytes = 0
    return this.#keep(out)
  }

  #keep(out: Buffer): Buffer {
    this.bytes += out.length
    this.#ending.push(out)
    return out
  }

  #lines(piece: Buffer): Buffer {
    const chunk = this.#start === null ? piece : this.#withoutMark(piece)
    if (!this.#afterCr && !chunk.includes(CR)) return chunk
    const out = Buffer.allocUnsafe(chunk.length)
    let size = 0
    for (const byte of chunk) {
      if (byte !== LF || !this.#afterCr) out[size++] = byte === CR ? LF : byte
      this.#afterCr = byte === CR
    }
    return out.subarray(0, size)
  }

  #withoutMark(piece: Buffer): Buffer {
    const chunk = this.#start!.length === 0 ? piece : Buffer.concat([this.#start!, piece])
    if (chunk.length < BOM.length && BOM.subarray(0, chunk.length).equals(chunk)) {
      this.#start = chunk
      return Buffer.alloc(0)
    }
    this.#start = null
    return chunk.subarray(0, BOM.length).equals(BOM) ? chunk.subarray(BOM.length) : chunk
  }

  /** 0 if no event ends here. */
  #boundary(chunk: Buffer): number {
    const at = chunk.lastIndexOf('\n\n')
    if (at >= 0) return at + 2
    return this.#last === LF && chunk[0] === LF ? 1 : 0
  }
}
