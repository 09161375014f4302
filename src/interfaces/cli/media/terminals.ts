import type { Terminal } from '../terminal.ts'

/**
 * The ways in which terminals show pictures.
 * kitty: https://sw.kovidgoyal.net/kitty/graphics-protocol · iterm2: https://iterm2.com/documentation-images.html ·
 * sixel: DEC STD 070, https://vt100.net/docs/vt3xx-gp/chapter14.html
 */
export type Way = 'kitty' | 'iterm2' | 'sixel'

/** Every terminal answers what it is; one that does not is not waited for longer. */
const WAIT_MS = 2_000

/** Whether kitty's protocol is understood, then what the terminal is (primary device attributes), which ends the answer. */
const QUESTION = '\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\\x1b[c'
// eslint-disable-next-line no-control-regex -- The answer of a terminal is a control sequence.
const attributes = /\x1b\[\?([\d;]*)c/

/** The way in which this terminal shows pictures, by its environment, else by asking it; null: it does not. */
export async function wayOf(terminal: Terminal): Promise<Way | null> {
  const { TERM = '', TERM_PROGRAM = '', LC_TERMINAL = '', KITTY_WINDOW_ID, TMUX, STY } = terminal.env
  // What multiplexes terminals does not pass pictures on.
  if (!terminal.interactive || TMUX || STY || TERM === 'dumb' || /^(screen|tmux)/.test(TERM)) return null
  if (KITTY_WINDOW_ID || TERM === 'xterm-kitty' || TERM === 'xterm-ghostty' || TERM_PROGRAM === 'ghostty')
    return 'kitty'
  if (['iTerm.app', 'WezTerm', 'mintty'].includes(TERM_PROGRAM) || LC_TERMINAL === 'iTerm2') return 'iterm2'
  const answer = await terminal.query(QUESTION, attributes, WAIT_MS)
  if (answer.includes('\x1b_Gi=31;OK')) return 'kitty'
  return attributes.exec(answer)?.[1]?.split(';').includes('4') ? 'sixel' : null
}
