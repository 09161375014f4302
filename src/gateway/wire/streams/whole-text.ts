/**
 * A provider may cut text inside a code point (JSON can carry surrogate halves separately). Output is always
 * well-formed; an unpaired half becomes U+FFFD.
 */
export class WholeText {
  #half = ''

  push(piece: string): string {
    const text = this.#half + piece
    const last = text.charCodeAt(text.length - 1)
    const endsInHalf = last >= 0xd800 && last <= 0xdbff
    this.#half = endsInHalf ? text.slice(-1) : ''
    return (endsInHalf ? text.slice(0, -1) : text).toWellFormed()
  }

  rest(): string {
    const half = this.#half
    this.#half = ''
    return half.toWellFormed()
  }
}
