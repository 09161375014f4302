/**
 * The last bytes of an endless stream, addressed by their offset. The buffer grows up to `capacity`, then drops the
 * oldest bytes.
 */
export class Ring {
  readonly capacity: number
  #buffer: Buffer
  #start: number
  #end: number

  constructor(capacity: number, at = 0) {
    this.capacity = capacity
    this.#buffer = Buffer.allocUnsafeSlow(Math.min(capacity, SMALLEST))
    this.#start = at
    this.#end = at
  }

  get start(): number {
    return this.#start
  }

  get end(): number {
    return this.#end
  }

  push(bytes: Uint8Array): void {
    const part = bytes.length > this.capacity ? bytes.subarray(bytes.length - this.capacity) : bytes
    this.#grow(this.#end - this.#start + part.length)
    const size = this.#buffer.length
    const from = this.#end + (bytes.length - part.length)
    const at = from % size
    const first = Math.min(part.length, size - at)
    this.#buffer.set(part.subarray(0, first), at)
    this.#buffer.set(part.subarray(first), 0)
    this.#end = from + part.length
    this.#start = Math.max(this.#start, this.#end - size)
  }

  /** Returns a copy of up to `most` bytes from `offset`, which must not be before `start`. Empty at the end. */
  read(offset: number, most: number): Buffer {
    const length = Math.max(0, Math.min(most, this.#end - offset))
    const size = this.#buffer.length
    const at = offset % size
    const first = Math.min(length, size - at)
    const copy = Buffer.allocUnsafe(length)
    this.#buffer.copy(copy, 0, at, at + first)
    if (length > first) this.#buffer.copy(copy, first, 0, length - first)
    return copy
  }

  #grow(needed: number): void {
    let size = this.#buffer.length
    while (size < needed && size < this.capacity) size = Math.min(this.capacity, size * 2)
    if (size === this.#buffer.length) return
    const content = this.read(this.#start, this.#end - this.#start)
    this.#buffer = Buffer.allocUnsafeSlow(size)
    const at = this.#start % size
    const first = Math.min(content.length, size - at)
    content.copy(this.#buffer, at, 0, first)
    content.copy(this.#buffer, 0, first)
  }
}

const SMALLEST = 4_096
