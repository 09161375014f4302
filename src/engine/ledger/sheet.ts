const FIRST_BYTES = 1 << 18

/**
 * Settled calls on their way into the database, as bytes outside of the garbage collector's sight: thousands of them
 * wait at any time, and as objects each would be copied several times before it is dropped.
 */
export class Sheet {
  #bytes = Buffer.allocUnsafeSlow(FIRST_BYTES)
  #length = 0
  #shared: string[] = []
  #places = new Map<string, number>()
  /** How many calls. */
  count = 0
  /** Of the calls whose id may come again before this is durable. */
  ids: string[] = []

  /** As an `Item` has them. */
  add(shared: string, own: string): void {
    let place = this.#places.get(shared)
    if (place === undefined) this.#places.set(shared, (place = this.#shared.push(shared) - 1))
    const text = `${this.count === 0 ? '[[' : ',['}${place},${own}]`
    // A character is three bytes at most; one is left for the closing bracket.
    const most = this.#length + text.length * 3 + 1
    if (most > this.#bytes.length) this.#grow(most)
    this.#length += this.#bytes.write(text, this.#length)
    this.count += 1
  }

  /** Empty again; its memory is kept. */
  clear(): void {
    this.#length = 0
    this.#shared = []
    this.#places.clear()
    this.count = 0
    this.ids = []
  }

  /** JSON of the shared parts. */
  get shared(): string {
    return `[${this.#shared.map((inside) => `{${inside}}`).join(',')}]`
  }

  /** JSON of the calls, in UTF-8; each begins with the place of its shared part. */
  get calls(): Buffer {
    this.#bytes[this.#length] = 0x5d
    return this.#bytes.subarray(0, this.#length + 1)
  }

  /** The calls one by one, each as `shared` and `calls` of its own. */
  each(): { shared: string; calls: string }[] {
    const calls = JSON.parse(this.calls.toString()) as [number, ...unknown[]][]
    return calls.map(([place, ...own]) => ({
      shared: `[{${this.#shared[place]}}]`,
      calls: JSON.stringify([[0, ...own]]),
    }))
  }

  #grow(most: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(most, this.#bytes.length * 2))
    this.#bytes.copy(larger, 0, 0, this.#length)
    this.#bytes = larger
  }
}
