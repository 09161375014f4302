import { Marked, type Token, Tokenizer, type Tokens } from 'marked'
import { characterAt, characterBefore, isBothFlanking, isOperator, maskNeighbors } from './emphasis.ts'
import { bareUrlEnd } from './links.ts'
import { displayAt, displayBehind, inlineAt, inlineBehind } from './maths.ts'

export type Block = Token
export type { Tokens }

/** The trailing blocks that further text can still change. */
const OPEN_BLOCKS = 3

/** Lexes a growing text. Only the open end is lexed again, so the cost follows the new text and not the whole text. */
export function growingLexer(): (text: string) => readonly Block[] {
  let text = ''
  let blocks: readonly Block[] = []
  return (now) => {
    if (now === text) return blocks
    const closed = now.startsWith(text) ? blocks.slice(0, -OPEN_BLOCKS) : []
    const raw = closed.map((block) => block.raw).join('')
    // Without the raw text (tabs and line ends are replaced), lexing can't resume.
    blocks = now.startsWith(raw) ? [...closed, ...lex(now.slice(raw.length))] : lex(now)
    text = now
    return blocks
  }
}

/** The depth limit of quotes and lists. Deeper text is shown as written. */
const DEEPEST_BLOCK = 32
/** The depth limit of emphasis and links. */
const DEEPEST_INLINE = 12

const standard = Tokenizer.prototype
let depth = 0

/** Lexes a token that can contain others of its kind. Undefined: too deep, and its markers are text. */
function within<T>(deepest: number, read: () => T): T | undefined {
  if (depth >= deepest) return undefined
  depth += 1
  try {
    return read()
  } finally {
    depth -= 1
  }
}

/** The character before the delimiters at the start of `src`. */
const before = (src: string, masked: string, previous: string): string =>
  /[\uDC00-\uDFFF]/.test(previous) ? characterBefore(masked, masked.length - src.length) || previous : previous

const marked = new Marked({
  gfm: true,
  extensions: [
    { name: 'maths', level: 'block', start: displayBehind, tokenizer: displayAt },
    { name: 'maths-inline', level: 'inline', start: inlineBehind, tokenizer: inlineAt },
  ],
  hooks: { emStrongMask: maskNeighbors },
  tokenizer: {
    blockquote(src) {
      return within(DEEPEST_BLOCK, () => standard.blockquote.call(this, src))
    },
    list(src) {
      return within(DEEPEST_BLOCK, () => standard.list.call(this, src))
    },
    link(src) {
      return within(DEEPEST_INLINE, () => standard.link.call(this, src))
    },
    reflink(src, links) {
      return within(DEEPEST_INLINE, () => standard.reflink.call(this, src, links))
    },
    emStrong(src, masked, previous = '') {
      const run = /^\*+/.exec(src)?.[0]
      if (run === undefined) return within(DEEPEST_INLINE, () => standard.emStrong.call(this, src, masked, previous))
      const [left, right] = [before(src, masked, previous), characterAt(src, run.length)]
      if (isOperator(left, right, run.length)) return undefined
      const isFree = isBothFlanking(left, right, run.length)
      return within(DEEPEST_INLINE, () => standard.emStrong.call(this, src, masked, isFree ? '' : previous))
    },
    // A single tilde is text: it writes ranges (`10~15`) and approximations (`~40`).
    del(src, masked, previous = '') {
      if (!src.startsWith('~~')) return undefined
      const isFree = isBothFlanking(before(src, masked, previous), characterAt(src, 2), 2)
      return within(DEEPEST_INLINE, () => standard.del.call(this, src, masked, isFree ? '' : previous))
    },
    url(src) {
      return standard.url.call(this, /^(?:https?:|ftp:|www\.)/i.test(src) ? src.slice(0, bareUrlEnd(src)) : src)
    },
  },
})

const lex = (text: string): Block[] => marked.lexer(text)
