/** Smaller bodies are joined at their end. */
const JOINED_FROM = 1 << 20
/** The buffer for the whole body is made when a quarter of it has come: who announces much and sends little takes little. */
const RESERVED_SHARE = 1 / 4

/**
 * Joins the pieces of a body while more of them arrive. Joining a large body at its end would copy all of it in one turn
 * of the event loop; so each piece that comes moves about two others of its size.
 */
export class BodyPieces {
  readonly #most: number
  #size = 0
  /** Those that are not in the buffer yet, the oldest first, with the place of the first of them. */
  #pieces: Buffer[] = []
  #moved = 0
  #buffer: Buffer | null = null

  /** `most`: the bytes of the body, as its Content-Length says, or the most that it may have. */
  constructor(most: number) {
    this.#most = most
  }

  add(piece: Buffer): void {
    const start = this.#size
    this.#size += piece.length
    if (this.#size < Math.max(JOINED_FROM, this.#most * RESERVED_SHARE)) return void this.#pieces.push(piece)
    this.#buffer ??= Buffer.allocUnsafeSlow(Math.max(this.#size, this.#most))
    this.#buffer.set(piece, start)
    this.#move(2 * piece.length)
  }

  /** The whole body. */
  join(): Buffer {
    if (this.#buffer) {
      this.#move(Infinity)
      return this.#buffer.subarray(0, this.#size)
    }
    return this.#pieces.length === 1 ? this.#pieces[0]! : Buffer.concat(this.#pieces)
  }

  clear(): void {
    this.#pieces = []
    this.#buffer = null
    this.#size = 0
    this.#moved = 0
  }

  /** Moves pieces into the buffer until at least so many bytes are there. */
  #move(bytes: number): void {
    let count = 0
    for (const end = this.#moved + bytes; count < this.#pieces.length && this.#moved < end; count++) {
      const piece = this.#pieces[count]!
      this.#buffer!.set(piece, this.#moved)
      this.#moved += piece.length
    }
    this.#pieces.splice(0, count)
  }
}
