import { Marked, type Token, type Tokens } from 'marked'
import { displayAt, displayBehind, inlineAt, inlineBehind } from './maths.ts'

export type Block = Token
export type { Tokens }

/** The blocks at the end that further text may still change: a paragraph becomes a heading, a list goes on. */
const OPEN_BLOCKS = 3

/**
 * Reads a text that grows. Where it is the former one and some more, only its open end is read again, so that an answer
 * costs what came and not what it has become.
 */
export function growingLexer(): (text: string) => readonly Block[] {
  let text = ''
  let blocks: readonly Block[] = []
  return (now) => {
    if (now === text) return blocks
    const closed = now.startsWith(text) ? blocks.slice(0, -OPEN_BLOCKS) : []
    const raw = closed.map((block) => block.raw).join('')
    // A lexer that replaced characters (tabs, line ends) has no raw text to go on from.
    blocks = now.startsWith(raw) ? [...closed, ...lex(now.slice(raw.length))] : lex(now)
    text = now
    return blocks
  }
}

const marked = new Marked({
  gfm: true,
  extensions: [
    { name: 'maths', level: 'block', start: displayBehind, tokenizer: displayAt },
    { name: 'maths-inline', level: 'inline', start: inlineBehind, tokenizer: inlineAt },
  ],
})

const lex = (text: string): Block[] => marked.lexer(text)
