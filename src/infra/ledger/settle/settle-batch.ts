import type { SharedFields } from './item.ts'

const FIRST_BYTES = 1 << 16

/**
 * Settled calls as bytes outside the garbage collector's heap: thousands are waiting at any time, and as objects they
 * would be copied several times.
 */
export class SettleBatch {
  #bytes = Buffer.allocUnsafeSlow(FIRST_BYTES)
  #length = 0
  #sharedFields: string[] = []
  readonly #places = new Map<Pick<SharedFields, 'text'>, number>()
  count = 0
  ids: string[] = []
  after: (() => void) | null = null

  add(shared: Pick<SharedFields, 'text'> | null, line: string): void {
    const text = `${this.count === 0 ? '' : '\n'}${shared === null ? '' : this.#placeOf(shared)}${line}`
    // A character has up to three bytes.
    const most = this.#length + text.length * 3
    if (most > this.#bytes.length) this.#grow(most)
    this.#length += this.#bytes.write(text, this.#length)
    this.count += 1
  }

  #placeOf(shared: Pick<SharedFields, 'text'>): number {
    let place = this.#places.get(shared)
    if (place === undefined) this.#places.set(shared, (place = this.#sharedFields.push(shared.text) - 1))
    return place
  }

  clear(): void {
    this.#length = 0
    this.#sharedFields = []
    this.#places.clear()
    this.count = 0
    this.ids = []
    this.after = null
  }

  get shared(): string {
    return `[${this.#sharedFields.join(',')}]`
  }

  /** UTF-8, one line per call, starting with the index of its shared fields. */
  get lines(): Buffer {
    return this.#bytes.subarray(0, this.#length)
  }

  each(): { shared: string; lines: string }[] {
    if (this.count === 0) return []
    return this.lines
      .toString()
      .split('\n')
      .map((line) => {
        const tab = line.indexOf('\t')
        return tab === 0
          ? { shared: '[]', lines: line }
          : { shared: `[${this.#sharedFields[Number(line.slice(0, tab))]}]`, lines: `0${line.slice(tab)}` }
      })
  }

  #grow(most: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(most, this.#bytes.length * 2))
    this.#bytes.copy(larger, 0, 0, this.#length)
    this.#bytes = larger
  }
}
