/** Storing one-byte frames separately costs a hundred times their size. */
const MIN_ROOM = 1_024
const LARGEST_ROOM = 1_048_576

/** Copies the bytes, because the link reuses its buffers. */
export class ByteCollector {
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
    const usual = Math.min(Math.max(this.size, MIN_ROOM), LARGEST_ROOM)
    this.#room = Buffer.allocUnsafeSlow(Math.max(rest.length, usual))
    this.#room.set(rest)
    this.#filled = rest.length
  }

  bytes(): Buffer {
    return Buffer.concat([...this.#full, this.#room.subarray(0, this.#filled)])
  }
}
