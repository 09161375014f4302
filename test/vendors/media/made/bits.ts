// Consecutive bits, as codecs write them.
export class Bits {
  readonly #bytes: number[] = []
  #open = 0
  #count = 0

  /** `length` bits of `value`, the highest first. */
  put(value: number, length: number): this {
    for (let at = length - 1; at >= 0; at--) {
      this.#open = (this.#open << 1) | (Math.floor(value / 2 ** at) & 1)
      if (++this.#count < 8) continue
      this.#bytes.push(this.#open)
      this.#open = 0
      this.#count = 0
    }
    return this
  }

  /** Exp-Golomb, unsigned (H.264, 9.1). */
  ue(value: number): this {
    const length = Math.floor(Math.log2(value + 1))
    return this.put(0, length).put(value + 1, length + 1)
  }

  /** A one, and zeros up to the next whole byte. */
  stop(): this {
    this.put(1, 1)
    return this.align()
  }

  align(): this {
    while (this.#count > 0) this.put(0, 1)
    return this
  }

  bytes(): Buffer {
    return Buffer.from(this.#bytes)
  }
}

/** A cyclic redundancy check of `width` bits, highest bit first, starting with zero. */
export function crc(bytes: Buffer, polynomial: number, width: 8 | 16 | 32): number {
  const top = 2 ** (width - 1)
  const mask = 2 ** width
  let sum = 0
  for (const byte of bytes) {
    sum = (sum ^ (byte * 2 ** (width - 8))) >>> 0
    for (let bit = 0; bit < 8; bit++) sum = (sum >= top ? ((sum * 2) % mask) ^ polynomial : sum * 2) >>> 0
  }
  return sum
}
