/**
 * One answer of HTTP/1.1 after the other on one connection (RFC 9112, 6 and 7.1), read as strictly as a client with kept
 * connections does: bytes behind an answer that nobody asked for are a failure, for they would be read as the next one.
 */
export class AnswerReader {
  #state: 'head' | 'length' | 'size' | 'data' | 'end' | 'whole' = 'head'
  #held = ''
  #left = 0

  /** The next answer may begin. */
  next(): void {
    this.#state = 'head'
    this.#held = ''
  }

  /** True when `part` ended the answer. Throws on a status other than 200 and on bytes that do not belong to an answer. */
  read(part: Buffer): boolean {
    let at = 0
    while (at < part.length) {
      if (this.#state === 'whole') throw new Error(`bytes behind an answer: ${JSON.stringify(text(part, at))}`)
      if (this.#state === 'length' || this.#state === 'data') {
        const taken = Math.min(this.#left, part.length - at)
        this.#left -= taken
        at += taken
        if (this.#left === 0) this.#state = this.#state === 'length' ? 'whole' : 'end'
      } else at = this.#line(part, at)
    }
    return this.#state === 'whole'
  }

  /** Reads the head, a chunk's size or the line end behind its data; answers where it stopped. */
  #line(part: Buffer, from: number): number {
    if (this.#state !== 'head') {
      const stop = part.indexOf(10, from)
      this.#held += part.toString('latin1', from, stop < 0 ? part.length : stop + 1)
      if (stop < 0) return part.length
      const line = this.#held
      this.#held = ''
      if (this.#state === 'end') {
        if (line !== '\r\n') throw new Error(`a chunk that is longer than it says: ${JSON.stringify(line)}`)
        this.#state = this.#left < 0 ? 'whole' : 'size'
      } else {
        const size = /^([0-9a-f]+)\r\n$/i.exec(line)
        if (size === null) throw new Error(`not the size of a chunk: ${JSON.stringify(line)}`)
        // The last chunk has no data; the empty line that ends the answer follows.
        this.#left = Number.parseInt(size[1]!, 16) || -1
        this.#state = this.#left < 0 ? 'end' : 'data'
      }
      return stop + 1
    }
    const before = this.#held.length
    this.#held += part.toString('latin1', from)
    const end = this.#held.indexOf('\r\n\r\n')
    if (end < 0) return part.length
    if (!this.#held.startsWith('HTTP/1.1 200')) throw new Error(`answered ${this.#held.slice(0, 2_000)}`)
    const length = /\r\ncontent-length: *(\d+)/i.exec(this.#held.slice(0, end + 2))?.[1]
    this.#held = ''
    this.#left = Number(length ?? 0)
    this.#state = length === undefined ? 'size' : this.#left === 0 ? 'whole' : 'length'
    return from + end + 4 - before
  }
}

const text = (part: Buffer, from: number): string => part.toString('latin1', from, from + 200)
