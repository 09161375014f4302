import { Ending } from './ending.ts'

const LF = 0x0a
const CR = 0x0d
/** An event larger than this is let through in pieces. */
const LARGEST_HELD = 1 << 20

/**
 * Cuts a stream of server-sent events at the blank lines between them, so that only whole events travel on: then
 * a stream that breaks can still end with a frame that its reader understands. Bytes are never changed, and when
 * the provider's pieces are whole events, as they mostly are, nothing is copied.
 */
export class Frames {
  #held: Buffer[] = []
  #heldBytes = 0
  // The last three bytes so far: a blank line may be cut anywhere.
  #before = [0, 0, 0]
  readonly #ending = new Ending()
  /** Bytes of whole events so far. */
  bytes = 0

  /** The whole events that this piece completes, or null. */
  push(chunk: Buffer): Buffer | null {
    const end = this.#boundary(chunk)
    this.#remember(chunk)
    if (end === 0) {
      this.#held.push(chunk)
      this.#heldBytes += chunk.length
      return this.#heldBytes > LARGEST_HELD ? this.rest() : null
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
    this.#keep(out)
    return out
  }

  /** The rest when the stream ends without a last blank line. */
  rest(): Buffer | null {
    if (this.#heldBytes === 0) return null
    const out = Buffer.concat(this.#held)
    this.#held = []
    this.#heldBytes = 0
    this.#keep(out)
    return out
  }

  /** The end of the stream so far, 8 KiB or more of whole events where there is so much. */
  tail(): string {
    return this.#ending.bytes().toString()
  }

  get tailBytes(): number {
    return this.#ending.length
  }

  #keep(out: Buffer): void {
    this.bytes += out.length
    this.#ending.push(out)
  }

  #remember(chunk: Buffer): void {
    const { length } = chunk
    const before = this.#before
    if (length >= 3) {
      before[0] = chunk[length - 3]!
      before[1] = chunk[length - 2]!
      before[2] = chunk[length - 1]!
    } else
      for (const byte of chunk) {
        before.shift()
        before.push(byte)
      }
  }

  /** The end of the last whole event in the chunk; 0 when none ends here. */
  #boundary(chunk: Buffer): number {
    for (let at = chunk.length - 1; at >= 0; at = at === 0 ? -1 : chunk.lastIndexOf(LF, at - 1)) {
      if (chunk[at] !== LF) continue
      const one = this.#byte(chunk, at - 1)
      if (one === LF || (one === CR && this.#byte(chunk, at - 2) === LF)) return at + 1
    }
    return 0
  }

  #byte(chunk: Buffer, at: number): number {
    return at >= 0 ? chunk[at]! : this.#before[3 + at]!
  }
}
