import { stripVTControlCharacters, styleText } from 'node:util'
import { codeOf } from './exit.ts'

/** The program's streams: data goes to `out`, messages for the user go to `err`. */
export interface Terminal {
  out(text: string | Uint8Array): Promise<void>
  err(text: string): void
  /** Whether stdout is a terminal. */
  interactive: boolean
  /** Whether prompts work: stdin and stderr are terminals. */
  canAsk: boolean
  columns: number
  env: Readonly<Record<string, string | undefined>>
  style(style: 'bold' | 'dim' | 'red' | 'green' | 'magenta', text: string): string
  /** Sends a control sequence and returns the terminal's reply, up to `ends` or the timeout. */
  query(sequence: string, ends: RegExp, ms: number): Promise<string>
  /** Runs `say` before Ctrl-C exits. The returned function removes it. */
  onInterrupt(say: () => void): () => void
}

export function createTerminal({ stdin, stdout, stderr, env }: NodeJS.Process): Terminal {
  // A reader that closes early (`uk … | head`) isn't a failure.
  stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))
  // Without a reader, messages are dropped and the command continues.
  stderr.on('error', () => {})
  return {
    // Resolves after the write: exiting discards buffered output.
    out: (text) => new Promise((resolve) => void stdout.write(text, () => resolve())),
    err: (text) => void stderr.write(`${text}\n`),
    interactive: stdout.isTTY,
    canAsk: stdin.isTTY && stderr.isTTY,
    columns: stdout.columns || Number(env.COLUMNS) || 80,
    env,
    // `styleText` handles NO_COLOR, FORCE_COLOR and streams that aren't terminals.
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

/** The reply arrives as typed input. Raw mode keeps it off the screen and needs no newline. */
async function asked(sequence: string, ends: RegExp, ms: number): Promise<string> {
  const { stdin, stdout } = process
  const wasRaw = stdin.isRaw
  let reply = ''
  await new Promise<void>((resolve) => {
    const hear = (part: Buffer): void => {
      reply += part.toString('latin1')
      if (ends.test(reply) || reply.includes('\x03')) done()
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
  // In raw mode, Ctrl-C is an ordinary character.
  if (reply.includes('\x03')) process.kill(process.pid, 'SIGINT')
  return reply
}

/** Removes control characters that could move the cursor, color the screen or rename the window. */
export const clean = (text: string): string =>
  stripVTControlCharacters(text.replaceAll('\r\n', '\n')).replace(/(?![\n\t])[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, '')

/** Cleans text for a terminal; leaves it unchanged for a pipe. */
export const shown = (text: string, { interactive }: Terminal): string => (interactive ? clean(text) : text)

const wide = /\p{Emoji_Presentation}|[\p{sc=Han}\p{sc=Hangul}\p{sc=Hiragana}\p{sc=Katakana}\uff01-\uff60]/u
const joined = /^\p{M}+$/u

export function widthOf(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length
  let width = 0
  for (const { segment } of new Intl.Segmenter().segment(text))
    width += joined.test(segment) ? 0 : wide.test(segment) ? 2 : 1
  return width
}

/** Cuts text to `columns` and marks the cut with `…`. */
export function fit(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text
  let result = ''
  let width = 0
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    width += wide.test(segment) ? 2 : 1
    if (width > columns - 1) break
    result += segment
  }
  return `${result}…`
}

export const pad = (text: string, columns: number): string => text + ' '.repeat(Math.max(0, columns - widthOf(text)))
