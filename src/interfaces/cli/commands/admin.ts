import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { parseArguments } from '../input/arguments.ts'
import { codeOf } from '../exit.ts'
import { textField } from '../input/fields.ts'
import { readText } from '../input/input.ts'
import { askNewPassword } from '../input/prompt.ts'
import type { Terminal } from '../terminal.ts'

/** A separate program: it opens the database, unlike other commands. */
const program = join(import.meta.dirname, '../../../reset-password.ts')

const email = { ...textField('email'), inPath: true, required: true }

/** `uk admin reset-password <email>`, run on the server's host. */
export async function resetPassword(words: readonly string[], terminal: Terminal): Promise<number> {
  const { input, globals } = await parseArguments(words, [email], readText)
  const password = await askNewPassword(globals, terminal)
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', program, String(input.email)], {
    stdio: ['pipe', 'inherit', 'inherit'],
    env: terminal.env,
  })
  child.stdin.end(password)
  return new Promise((resolve) => child.on('close', (code) => resolve(code ?? codeOf('failure'))))
}
