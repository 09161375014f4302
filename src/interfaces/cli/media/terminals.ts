import type { Terminal } from '../terminal.ts'

/**
 * Image protocols of terminals. kitty: https://sw.kovidgoyal.net/kitty/graphics-protocol · iterm2:
 * https://iterm2.com/documentation-images.html · sixel: DEC STD 070, https://vt100.net/docs/vt3xx-gp/chapter14.html
 */
export type Way = 'kitty' | 'iterm2' | 'sixel'

/** Every terminal replies to device attributes; stop waiting for one that doesn't. */
const WAIT_MS = 2_000

/** Queries kitty's protocol, then the primary device attributes, whose reply comes last. */
const QUESTION = '\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\\x1b[c'
// eslint-disable-next-line no-control-regex -- The answer of a terminal is a control sequence.
const attributes = /\x1b\[\?([\d;]*)c/

/** The image protocol of this terminal, from its environment or by query; null without one. */
export async function wayOf(terminal: Terminal): Promise<Way | null> {
  const { TERM = '', TERM_PROGRAM = '', LC_TERMINAL = '', KITTY_WINDOW_ID, TMUX, STY } = terminal.env
  // Multiplexers don't pass images on.
  if (!terminal.interactive || TMUX || STY || TERM === 'dumb' || /^(screen|tmux)/.test(TERM)) return null
  if (KITTY_WINDOW_ID || TERM === 'xterm-kitty' || TERM === 'xterm-ghostty' || TERM_PROGRAM === 'ghostty')
    return 'kitty'
  if (['iTerm.app', 'WezTerm', 'mintty'].includes(TERM_PROGRAM) || LC_TERMINAL === 'iTerm2') return 'iterm2'
  const answer = await terminal.query(QUESTION, attributes, WAIT_MS)
  if (answer.includes('\x1b_Gi=31;OK')) return 'kitty'
  return attributes.exec(answer)?.[1]?.split(';').includes('4') ? 'sixel' : null
}
