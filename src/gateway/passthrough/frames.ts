import { Ending } from './ending.ts'
import { joinDataLines } from './join-data-lines.ts'

const LF = 0x0a
const CR = 0x0d
const BOM = Buffer.from('\uFEFF')
/** An event larger than this is let through in pieces. */
const LARGEST_HELD = 1 << 20

/**
 * Cuts a stream of server-sent events at the blank lines between them, so that only whole events travel on: then
 * a stream that breaks can still end with a frame that its reader understands. Lines end with LF afterwards, whichever of
 * the standard's three endings the provider uses; a byte order mark is dropped, and the data of an event is one line. Other
 * bytes are never changed, and when the provider's pieces are whole events, as they mostly are, nothing is copied.
 * https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
 */
export class Frames {
  #held: Buffer[] = []
  #heldBytes = 0
  /** The last byte so far: a blank line may be cut anywhere. */
  #last = 0
  /** The last byte that came was a CR, to which an LF may belong. */
  #afterCr = false
  /** Bytes of the stream's beginning that may turn out to be a byte order mark; null: it has begun. */
  #start: Buffer | null = Buffer.alloc(0)
  readonly #ending = new Ending()
  /** Bytes of whole events so far. */
  bytes = 0
  /** The last bytes that came out end inside of an event, which was too large to be held. */
  cut = false

  /** The whole events that this piece completes, or null. */
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

  /** The rest when the stream ends without a last blank line. */
  rest(): Buffer | null {
    if (this.#start !== null && this.#start.length > 0) {
      this.#held.push(this.#start)
      this.#heldBytes += this.#start.length
    }
    this.#start = null
    return this.#heldBytes === 0 ? null : this.#take()
  }

  /** The end of the stream so far, 8 KiB or more of whole events where there is so much. */
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

  /** The bytes with LF at the end of each line, from the first one behind a byte order mark. */
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

  /** The end of the last whole event in the chunk; 0 when none ends here. */
  #boundary(chunk: Buffer): number {
    const at = chunk.lastIndexOf('\n\n')
    if (at >= 0) return at + 2
    return this.#last === LF && chunk[0] === LF ? 1 : 0
  }
}
