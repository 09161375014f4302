import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Interface, createInterface } from 'node:readline'
import { stateFolder } from '../../server/state.ts'
import type { Terminal } from '../../terminal.ts'
import { Keys, MARK_NO_PASTES, MARK_PASTES, NEW_LINE } from './keys.ts'

const MAX_LINES = 1_000

export interface Editor extends AsyncDisposable {
  /** Reads a message; null to quit (Ctrl-D, or Ctrl-C on an empty line). */
  message(): Promise<string | null>
  answer(question: string): Promise<string>
  /** Handles Ctrl-C while set. */
  interrupts: (() => void) | null
}

export async function openEditor(terminal: Terminal): Promise<Editor> {
  const { stdin, stdout } = process
  const file = join(stateFolder(terminal), 'history')
  const history = await readHistory(file)
  const keys = new Keys(() => {
    editor.interrupts?.()
    return editor.interrupts !== null
  })
  const lines: Interface = createInterface({
    input: stdin.pipe(keys),
    output: stdout,
    terminal: true,
    historySize: MAX_LINES,
    history: history.toReversed(),
    removeHistoryDuplicates: true,
  })
  stdin.setRawMode(true)
  stdout.write(MARK_PASTES)
  const interrupted = (): void => editor.interrupts?.()
  // In raw mode Ctrl-C is a character; this handles signals from elsewhere.
  process.on('SIGINT', interrupted)
  let closed = false
  lines.on('close', () => (closed = true))

  const line = (prompt: string, before: 'keep' | 'forget'): Promise<string | null> =>
    new Promise((resolve) => {
      if (closed) return resolve(null)
      const done = (typed: string | null): void => {
        keys.hold()
        lines.off('line', done).off('close', quit).off('SIGINT', interruptLine)
        resolve(typed)
      }
      const quit = (): void => done(null)
      // Clears the typed text; quits if there is none.
      const interruptLine = (): void => {
        if (lines.line === '') return done(null)
        stdout.write('^C\n')
        lines.write(null, { ctrl: true, name: 'e' })
        lines.write(null, { ctrl: true, name: 'u' })
        lines.prompt()
      }
      lines.on('line', done).on('close', quit).on('SIGINT', interruptLine)
      lines.setPrompt(prompt)
      lines.prompt()
      keys.release(before)
    })

  const editor: Editor = {
    interrupts: null,
    async message() {
      let text = ''
      for (let prompt = '› '; ; prompt = '… ') {
        const typed = await line(prompt, 'keep')
        if (typed === null) return text === '' ? null : ''
        text += typed
        // As in a shell, a trailing \ continues the line.
        if (!text.endsWith('\\')) break
        text = `${text.slice(0, -1)}${NEW_LINE}`
      }
      if (text.trim() !== '' && history.at(-1) !== text) history.push(text)
      return text.replaceAll(NEW_LINE, '\n')
    },
    async answer(question) {
      const typed = (await line(`${question} `, 'forget')) ?? ''
      // Answers don't belong in the message history.
      const lineHistory = (lines as Interface & { history?: string[] }).history
      if (lineHistory?.[0] === typed) lineHistory.shift()
      return typed
    },
    async [Symbol.asyncDispose]() {
      process.off('SIGINT', interrupted)
      lines.close()
      stdin.unpipe(keys)
      stdin.setRawMode(false).pause()
      stdout.write(MARK_NO_PASTES)
      await writeHistory(file, history)
    },
  }
  return editor
}

const readHistory = async (file: string): Promise<string[]> =>
  (await readFile(file, 'utf8').catch(() => '')).split('\n').filter(Boolean).slice(-MAX_LINES)

async function writeHistory(file: string, history: readonly string[]): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 })
    await writeFile(file, `${history.slice(-MAX_LINES).join('\n')}\n`, { mode: 0o600 })
  } catch {
    // Losing the history is not an error.
  }
}
