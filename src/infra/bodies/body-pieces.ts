const JOINED_FROM = 1 << 20
/**
 * The full buffer is allocated once a quarter has arrived, so that announcing a large body and sending little costs
 * little memory.
 */
const RESERVED_SHARE = 1 / 4

/**
 * Joins a body's pieces as they arrive. Joining a large body at the end would copy it in one event-loop turn; instead
 * each new piece moves about two others.
 */
export class BodyPieces {
  readonly #most: number
  #size = 0
  #pieces: Buffer[] = []
  #movedBytes = 0
  #buffer: Buffer | null = null

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
    this.#movedBytes = 0
  }

  #move(bytes: number): void {
    let count = 0
    for (const end = this.#movedBytes + bytes; count < this.#pieces.length && this.#movedBytes < end; count++) {
      const piece = this.#pieces[count]!
      this.#buffer!.set(piece, this.#movedBytes)
      this.#movedBytes += piece.length
    }
    this.#pieces.splice(0, count)
  }
}
