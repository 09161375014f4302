const ENTER = new Set([0x0d, 0x0a])
const TILDE = 0x7e
const DOT = 0x2e

/**
 * Typed input. `~.` after Enter detaches, as in ssh(1), and `~~` sends one tilde. A tilde waits for the next key, and a
 * split UTF-8 character is sent whole.
 */
export class Typed {
  #state: 'begun' | 'tilde' | 'within' = 'begun'
  #rest = Buffer.alloc(0)
  #seq = 0

  next(): number {
    return this.#seq++
  }

  take(bytes: Buffer): { send: Buffer; detach: boolean } {
    const out: number[] = []
    for (const byte of bytes) {
      if (this.#state === 'tilde') {
        if (byte === DOT) return { send: this.#whole(out), detach: true }
        out.push(TILDE)
        if (byte === TILDE) {
          this.#state = 'within'
          continue
        }
      }
      if (byte === TILDE && this.#state === 'begun') {
        this.#state = 'tilde'
        continue
      }
      out.push(byte)
      this.#state = ENTER.has(byte) ? 'begun' : 'within'
    }
    return { send: this.#whole(out), detach: false }
  }

  /** Holds back an incomplete UTF-8 character. */
  #whole(bytes: number[]): Buffer {
    const all = Buffer.concat([this.#rest, Buffer.from(bytes)])
    let end = all.length
    for (let back = 1; back <= Math.min(3, all.length); back++) {
      const byte = all[all.length - back]!
      if ((byte & 0xc0) === 0x80) continue
      const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
      if (length > back) end = all.length - back
      break
    }
    this.#rest = Buffer.from(all.subarray(end))
    return all.subarray(0, end)
  }
}
