const QUOTE = 0x22
const BACKSLASH = 0x5c
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d]

/**
 * Detects when the outermost object closes, so that it is parsed once: parsing after every piece is quadratic. Checks
 * nothing else.
 */
export class JsonBalance {
  #depth = 0
  #inString = false
  #escaped = false
  #state: 'before' | 'inside' | 'closed' | 'spoiled' = 'before'

  /** With only white space after it. */
  get closed(): boolean {
    return this.#state === 'closed'
  }

  push(piece: string): void {
    for (let at = 0; at < piece.length && this.#state !== 'spoiled'; at++) this.#read(piece.charCodeAt(at))
  }

  #read(code: number): void {
    if (this.#inString) {
      if (this.#escaped) this.#escaped = false
      else if (code === BACKSLASH) this.#escaped = true
      else if (code === QUOTE) this.#inString = false
      return
    }
    if (code <= 0x20) return
    if (this.#state === 'closed' || (this.#state === 'before' && code !== OPEN_OBJECT)) {
      this.#state = 'spoiled'
      return
    }
    this.#state = 'inside'
    if (code === QUOTE) this.#inString = true
    else if (code === OPEN_OBJECT || code === OPEN_LIST) this.#depth++
    else if ((code === CLOSE_OBJECT || code === CLOSE_LIST) && --this.#depth === 0) this.#state = 'closed'
  }
}
