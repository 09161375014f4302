import { stripVTControlCharacters, styleText } from 'node:util'
import { codeOf } from './exit.ts'

/** The streams the program speaks through: data goes to `out`, everything said to a person to `err`. */
export interface Terminal {
  out(text: string | Uint8Array): Promise<void>
  err(text: string): void
  /** Whether a person reads stdout. */
  interactive: boolean
  /** Whether a person can be asked: stdin and stderr are a terminal. */
  canAsk: boolean
  columns: number
  env: Readonly<Record<string, string | undefined>>
  style(style: 'bold' | 'dim' | 'red' | 'green' | 'magenta', text: string): string
  /** Sends a control sequence and answers what the terminal says to it: until that ends as told, or the time is over. */
  query(sequence: string, ends: RegExp, ms: number): Promise<string>
  /** Sets the words that are said before Ctrl-C ends the program; the answer takes them back. */
  onInterrupt(say: () => void): () => void
}

export function createTerminal({ stdin, stdout, stderr, env }: NodeJS.Process): Terminal {
  // A reader that has seen enough (`uk … | head`) is not a failure.
  stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))
  // Messages without a reader are dropped: the command itself continues.
  stderr.on('error', () => {})
  return {
    // Once it has left: of what only waits its turn, the end of the program would leave nothing.
    out: (text) => new Promise((resolve) => void stdout.write(text, () => resolve())),
    err: (text) => void stderr.write(`${text}\n`),
    interactive: stdout.isTTY,
    canAsk: stdin.isTTY && stderr.isTTY,
    columns: stdout.columns || Number(env.COLUMNS) || 80,
    env,
    // NO_COLOR, FORCE_COLOR and a stream that is not a terminal are honoured by styleText itself.
    style: (style, text) => styleText(style, text, { stream: stdout }),
    query: (sequence, ends, ms) => (stdin.isTTY && stdout.isTTY ? asked(sequence, ends, ms) : Promise.resolve('')),
    onInterrupt(say) {
      const end = () => {
        say()
        process.exit(codeOf('interrupted'))
      }
      process.once('SIGINT', end)
      return () => void process.off('SIGINT', end)
    },
  }
}

/** The answer comes as if it were typed: it is read raw, so that it is neither shown nor waits for a new line. */
async function asked(sequence: string, ends: RegExp, ms: number): Promise<string> {
  const { stdin, stdout } = process
  const wasRaw = stdin.isRaw
  let heard = ''
  await new Promise<void>((resolve) => {
    const hear = (part: Buffer): void => {
      heard += part.toString('latin1')
      if (ends.test(heard) || heard.includes('\x03')) done()
    }
    const timer = setTimeout(() => done(), ms)
    const done = (): void => {
      clearTimeout(timer)
      stdin.off('data', hear).pause()
      stdin.setRawMode(wasRaw)
      resolve()
    }
    stdin.setRawMode(true).on('data', hear).resume()
    stdout.write(sequence)
  })
  // Ctrl-C, which raw input takes for a letter.
  if (heard.includes('\x03')) process.kill(process.pid, 'SIGINT')
  return heard
}

/** Text by others without what could move the cursor, colour the screen or rename the window. */
export const clean = (text: string): string =>
  stripVTControlCharacters(text.replaceAll('\r\n', '\n')).replace(/(?![\n\t])[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, '')

/** Text for output: for a person without characters that could harm the terminal, for a pipe as it is. */
export const shown = (text: string, { interactive }: Terminal): string => (interactive ? clean(text) : text)

const wide = /\p{Emoji_Presentation}|[\p{sc=Han}\p{sc=Hangul}\p{sc=Hiragana}\p{sc=Katakana}\uff01-\uff60]/u
const joined = /^\p{M}+$/u

/** The columns that a text takes. */
export function widthOf(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length
  let width = 0
  for (const { segment } of new Intl.Segmenter().segment(text))
    width += joined.test(segment) ? 0 : wide.test(segment) ? 2 : 1
  return width
}

/** Cuts text to at most `columns`; cut text ends in `…`. */
export function fit(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text
  let kept = ''
  let width = 0
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    width += wide.test(segment) ? 2 : 1
    if (width > columns - 1) break
    kept += segment
  }
  return `${kept}…`
}

export const pad = (text: string, columns: number): string => text + ' '.repeat(Math.max(0, columns - widthOf(text)))
