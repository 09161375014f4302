/** Pieces are this large, or twice, four times, … as large. */
const SMALLEST_BITS = 10

/**
 * Memory for the bodies of requests. Fresh memory for each lies outside of V8's heap and counts towards its next full
 * collection, long before one of young objects would free it: at 20 KB those cost more than the call. A piece that its
 * reader never gives back is collected as any other.
 */
export class BodyMemory {
  /** Pieces that nobody has, by their size. */
  readonly #free: Buffer[][] = []
  readonly #mostFree: number
  #freeBytes = 0

  /** `mostFree`: the bytes that are kept though nobody uses them. */
  constructor(mostFree: number) {
    this.#mostFree = mostFree
  }

  get freeBytes(): number {
    return this.#freeBytes
  }

  /** Takes at least so many bytes, with whatever they held before. */
  take(length: number): Buffer {
    const bits = length <= 1 << SMALLEST_BITS ? SMALLEST_BITS : 32 - Math.clz32(length - 1)
    const piece = this.#free[bits - SMALLEST_BITS]?.pop()
    if (piece === undefined) return Buffer.allocUnsafeSlow(1 << bits)
    this.#freeBytes -= piece.length
    return piece
  }

  /** Gives a piece back, once for each `take`, when nothing refers to it any more. */
  giveBack(piece: Buffer): void {
    if (this.#freeBytes + piece.length > this.#mostFree) return
    this.#freeBytes += piece.length
    const at = 31 - Math.clz32(piece.length) - SMALLEST_BITS
    while (this.#free.length <= at) this.#free.push([])
    this.#free[at]!.push(piece)
  }
}
