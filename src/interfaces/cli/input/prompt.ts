import { createInterface } from 'node:readline/promises'
import type { Globals } from '../globals.ts'
import { Stop, codeOf } from '../exit.ts'
import type { Field } from './fields.ts'
import { readText } from './input.ts'
import type { Terminal } from '../terminal.ts'

/** Prompts on stderr: stdout is for data. */
export async function ask(question: string, flag: string, globals: Globals, terminal: Terminal): Promise<string> {
  mayAsk(flag, globals, terminal)
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  // Without these, Ctrl-C and Ctrl-D would leave the question pending forever.
  const canceled = new Promise<never>((_, reject) => {
    lines.on('SIGINT', () => lines.close())
    lines.on('close', () => reject(new Stop('interrupted', 'Canceled.')))
  })
  try {
    return (
      await Promise.race([lines.question(/[?\]]$/.test(question) ? `${question} ` : `${question}: `), canceled])
    ).trim()
  } finally {
    lines.removeAllListeners('close').close()
  }
}

export async function askPassword(globals: Globals, terminal: Terminal): Promise<string> {
  if (globals['password-stdin']) return (await readText('-')).replace(/\r?\n$/, '')
  return askHidden('Password', '--password-stdin', globals, terminal)
}

/** A new password, typed twice because it isn't shown. */
export async function askNewPassword(globals: Globals, terminal: Terminal): Promise<string> {
  const password = await askPassword(globals, terminal)
  if (globals['password-stdin']) return password
  if ((await askHidden('Repeat password', '--password-stdin', globals, terminal)) === password) return password
  throw new Stop('usage', "The passwords don't match.", 'Try again.')
}

export function askHidden(question: string, flag: string, globals: Globals, terminal: Terminal): Promise<string> {
  mayAsk(flag, globals, terminal)
  const { stdin, stderr } = process
  // Raw mode comes before the prompt: fast typing must not be echoed.
  stdin.setRawMode(true).setEncoding('utf8').resume()
  stderr.write(`${question}: `)
  return new Promise((resolve) => {
    let typed = ''
    const end = () => {
      stdin.off('data', read).setRawMode(false).pause()
      stderr.write('\n')
    }
    const read = (keys: string) => {
      for (const key of keys) {
        if (key === '\r' || key === '\n' || key === '\u0004') {
          end()
          return resolve(typed)
        }
        if (key === '\u0003') {
          end()
          process.exit(codeOf('interrupted'))
        }
        if (key === '\u007f' || key === '\b') typed = typed.slice(0, -1)
        else if (key >= ' ') typed += key
      }
    }
    stdin.on('data', read)
  })
}

export async function askField(field: Field, globals: Globals, terminal: Terminal): Promise<string> {
  const { flag, choices, secret, description } = field
  if (description !== '') terminal.err(terminal.style('dim', description))
  const label = choices.length > 0 && choices.length <= 8 ? `${flag} (${choices.join(', ')})` : flag
  const typed = secret
    ? await askHidden(label, `--${flag}`, globals, terminal)
    : await ask(label, `--${flag}`, globals, terminal)
  if (typed === '') throw new Stop('usage', `${flag} can't be empty.`)
  return typed
}

function mayAsk(flag: string, globals: Globals, terminal: Terminal): void {
  if (!terminal.canAsk || globals['no-input'])
    throw new Stop('usage', `${flag} is required when there is no terminal to ask in.`)
}
