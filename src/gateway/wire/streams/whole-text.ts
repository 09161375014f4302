/**
 * Joins text that a provider cut inside a code point (JSON can carry the halves of a surrogate pair apart): what is
 * given on is always well-formed, a half that stays alone becomes U+FFFD.
 */
export class WholeText {
  #half = ''

  push(piece: string): string {
    const text = this.#half + piece
    const last = text.charCodeAt(text.length - 1)
    const cut = last >= 0xd800 && last <= 0xdbff
    this.#half = cut ? text.slice(-1) : ''
    return (cut ? text.slice(0, -1) : text).toWellFormed()
  }

  /** The half that never met its other one. */
  rest(): string {
    const half = this.#half
    this.#half = ''
    return half.toWellFormed()
  }
}
