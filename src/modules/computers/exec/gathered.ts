/**
 * The smallest room, in bytes. A frame of one byte would cost a hundred as an array of its own: parts go to rooms, each
 * as large as what there is.
 */
const LEAST_ROOM = 1_024
const LARGEST_ROOM = 1_048_576

/** Bytes that came in parts of any size, copied: the link only lends them. It takes little more room than they do. */
export class Gathered {
  readonly #full: Buffer[] = []
  #room = Buffer.alloc(0)
  #filled = 0
  size = 0

  add(bytes: Uint8Array): void {
    const first = bytes.subarray(0, this.#room.length - this.#filled)
    const rest = bytes.subarray(first.length)
    this.#room.set(first, this.#filled)
    this.#filled += first.length
    this.size += bytes.length
    if (rest.length === 0) return
    this.#full.push(this.#room)
    const usual = Math.min(Math.max(this.size, LEAST_ROOM), LARGEST_ROOM)
    this.#room = Buffer.allocUnsafeSlow(Math.max(rest.length, usual))
    this.#room.set(rest)
    this.#filled = rest.length
  }

  /** All bytes that came. */
  bytes(): Buffer {
    return Buffer.concat([...this.#full, this.#room.subarray(0, this.#filled)])
  }
}
