const SMALLEST_BITS = 10

/**
 * Pools memory for request bodies. New buffers live outside V8's heap and trigger full collections long before
 * young-generation ones would free them: at 20 KB per body those cost more than the call. A buffer that is never
 * returned is garbage-collected normally.
 */
export class BodyMemory {
  readonly #free: Buffer[][] = []
  readonly #mostFree: number
  #freeBytes = 0

  constructor(mostFree: number) {
    this.#mostFree = mostFree
  }

  get freeBytes(): number {
    return this.#freeBytes
  }

  take(length: number): Buffer {
    const bits = length <= 1 << SMALLEST_BITS ? SMALLEST_BITS : 32 - Math.clz32(length - 1)
    const piece = this.#free[bits - SMALLEST_BITS]?.pop()
    if (piece === undefined) return Buffer.allocUnsafeSlow(1 << bits)
    this.#freeBytes -= piece.length
    return piece
  }

  /** Returns a buffer to the pool. Call once per `take`, after the last use. */
  giveBack(piece: Buffer): void {
    if (this.#freeBytes + piece.length > this.#mostFree) return
    this.#freeBytes += piece.length
    const at = 31 - Math.clz32(piece.length) - SMALLEST_BITS
    while (this.#free.length <= at) this.#free.push([])
    this.#free[at]!.push(piece)
  }
}
