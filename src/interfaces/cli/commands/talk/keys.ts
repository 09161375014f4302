import { Transform } from 'node:stream'

/** Stands for a newline in the edited line. */
export const NEW_LINE = '␊'

const PASTE_BEGINS = '\x1b[200~'
const PASTE_ENDS = '\x1b[201~'
/** Enables bracketed paste (https://invisible-island.net/xterm/ctlseqs). */
export const MARK_PASTES = '\x1b[?2004h'
export const MARK_NO_PASTES = '\x1b[?2004l'

/**
 * Filters keys for the line editor: pasted newlines, Alt-Enter and Ctrl-J insert a newline instead of sending, and
 * Ctrl-C goes to `interrupt` first.
 */
export class Keys extends Transform {
  #pasting = false
  #kept = ''
  #held: string | null = null
  #interrupt: () => boolean
  constructor(interrupt: () => boolean) {
    super({ decodeStrings: false, encoding: 'utf8' })
    this.#interrupt = interrupt
  }
  override _transform(part: Buffer | string, _: BufferEncoding, done: () => void): void {
    let text = this.#kept + part.toString()
    this.#kept = ''
    let out = ''
    while (text !== '') {
      const mark = this.#pasting ? PASTE_ENDS : PASTE_BEGINS
      const at = text.indexOf(mark)
      let piece = at < 0 ? text : text.slice(0, at)
      // A mark may be split across chunks; a lone trailing Escape is a key press.
      const cut = at < 0 ? beginningOf(mark, piece) : 0
      this.#kept = piece.slice(piece.length - cut)
      piece = piece.slice(0, piece.length - cut)
      out += this.#pasting ? pasted(piece) : typed(piece)
      text = at < 0 ? '' : text.slice(at + mark.length)
      if (at >= 0) this.#pasting = !this.#pasting
    }
    if (out.includes('\x03') && this.#interrupt()) out = out.replaceAll('\x03', '')
    if (this.#held !== null) this.#held += out
    else if (out !== '') this.push(out)
    done()
  }
  /** Buffers keys while no prompt is open. */
  hold(): void {
    this.#held ??= ''
  }
  /** Releases the buffered keys, or drops them if a question came up that they can't answer. */
  release(how: 'keep' | 'forget'): void {
    const input = this.#held
    this.#held = null
    if (how === 'keep' && input) this.push(input)
  }
}

const pasted = (text: string): string => text.replaceAll(/\r\n?|\n/g, NEW_LINE).replaceAll(/(?!\t)\p{Cc}/gu, '')
const typed = (text: string): string => text.replaceAll('\x1b\r', NEW_LINE).replaceAll('\n', NEW_LINE)

/** Length of a mark's prefix at the end of the text, 2 or more; else 0. */
function beginningOf(mark: string, text: string): number {
  for (let length = Math.min(mark.length - 1, text.length); length >= 2; length--)
    if (text.endsWith(mark.slice(0, length))) return length
  return 0
}
