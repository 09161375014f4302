import type { SharedFields } from './item.ts'

const FIRST_BYTES = 1 << 16

/**
 * Settled calls on their way into the database, as bytes outside of the garbage collector's sight: thousands of them
 * wait at any time, and as objects each would be copied several times before it is dropped.
 */
export class SettleBatch {
  #bytes = Buffer.allocUnsafeSlow(FIRST_BYTES)
  #length = 0
  #shared: string[] = []
  readonly #places = new Map<Pick<SharedFields, 'text'>, number>()
  /** The number of calls. */
  count = 0
  /** The ids of calls that may come again before this batch is durable. */
  ids: string[] = []
  /** Entries that are not needed any more once this is durable. */
  after: (() => void) | null = null

  /** Adds a call, in the form that an `Item` has. */
  add(shared: Pick<SharedFields, 'text'> | null, line: string): void {
    const text = `${this.count === 0 ? '' : '\n'}${shared === null ? '' : this.#placeOf(shared)}${line}`
    // A character is three bytes at most.
    const most = this.#length + text.length * 3
    if (most > this.#bytes.length) this.#grow(most)
    this.#length += this.#bytes.write(text, this.#length)
    this.count += 1
  }

  #placeOf(shared: Pick<SharedFields, 'text'>): number {
    let place = this.#places.get(shared)
    if (place === undefined) this.#places.set(shared, (place = this.#shared.push(shared.text) - 1))
    return place
  }

  /** Empty again; its memory is kept. */
  clear(): void {
    this.#length = 0
    this.#shared = []
    this.#places.clear()
    this.count = 0
    this.ids = []
    this.after = null
  }

  /** JSON of the shared parts. */
  get shared(): string {
    return `[${this.#shared.join(',')}]`
  }

  /** A line per call, in UTF-8; each begins with the place of its shared part. */
  get lines(): Buffer {
    return this.#bytes.subarray(0, this.#length)
  }

  /** The calls one by one, each as `shared` and `lines` of its own. */
  each(): { shared: string; lines: string }[] {
    if (this.count === 0) return []
    return this.lines
      .toString()
      .split('\n')
      .map((line) => {
        const tab = line.indexOf('\t')
        return tab === 0
          ? { shared: '[]', lines: line }
          : { shared: `[${this.#shared[Number(line.slice(0, tab))]}]`, lines: `0${line.slice(tab)}` }
      })
  }

  #grow(most: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(most, this.#bytes.length * 2))
    this.#bytes.copy(larger, 0, 0, this.#length)
    this.#bytes = larger
  }
}
