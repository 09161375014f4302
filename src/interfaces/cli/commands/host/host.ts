import { spawn } from 'node:child_process'

import { join, resolve } from 'node:path'
import { Stop, codeOf } from '../../exit.ts'
import type { Globals } from '../../globals.ts'
import { parseArguments } from '../../input/arguments.ts'
import { type Field, textField } from '../../input/fields.ts'
import { readText } from '../../input/input.ts'
import { askHidden } from '../../input/prompt.ts'
import type { Terminal } from '../../terminal.ts'

/** A separate program: it opens the instance's database and files, unlike other commands. */
const program = join(import.meta.dirname, '../../../../ops/program.ts')

const switchField = (name: string): Field => ({ ...textField(name), kind: 'switch' })
const fileField = (name: string): Field => ({ ...textField(name), verbatim: true })
const positionalField = (name: string): Field => ({ ...textField(name), inPath: true, required: true, verbatim: true })

/** `uk backup [--to DIR|FILE|-]`, run on the server's host. */
export async function backup(words: readonly string[], terminal: Terminal): Promise<number> {
  const fields = [
    fileField('to'),
    switchField('with_key'),
    fileField('passphrase_file'),
    { ...textField('keep'), kind: 'number' as const },
  ]
  const { input, globals } = await parseArguments(words, fields, readText)
  const to = input.to === undefined ? 'backups' : String(input.to)
  const keep = input.keep === undefined ? null : Number(input.keep)
  if (keep !== null && (!Number.isInteger(keep) || keep < 1))
    throw new Stop('usage', '--keep must be a whole number of 1 or more.')
  if (keep !== null && (to === '-' || to.endsWith('.tar')))
    throw new Stop('usage', '--keep works only with a folder of backups. Set the folder with --to.')
  if (to === '-' && process.stdout.isTTY)
    throw new Stop(
      'usage',
      "Can't write a backup to a terminal.",
      'Pipe it, for example: uk backup --to - | age -r … > ukiyo.tar.age',
    )
  const passphrase = input.with_key === true ? await passphraseFor(input, globals, terminal, 'new') : null
  const options = { to: to === '-' ? to : resolve(to), passphrase, keep, json: globals.json === true }
  return runProgram('backup', options, terminal)
}

/** `uk restore <backup>`, into an empty instance. */
export async function restore(words: readonly string[], terminal: Terminal): Promise<number> {
  const fields = [
    positionalField('backup'),
    fileField('passphrase_file'),
    switchField('without_key'),
    switchField('unsigned'),
    switchField('resume'),
    switchField('dry_run'),
  ]
  const { input, globals } = await parseArguments(words, fields, readText)
  if (input.backup === '-')
    throw new Stop(
      'usage',
      "Can't restore from stdin: a backup is verified first, so it's read twice. Save it to a file and pass the file.",
    )
  const hasPassphrase = input.passphrase_file !== undefined || Boolean(terminal.env.UK_BACKUP_PASSPHRASE)
  const options = {
    from: resolve(String(input.backup)),
    passphrase: hasPassphrase ? await passphraseFor(input, globals, terminal, 'known') : null,
    withoutKey: input.without_key === true,
    unsigned: input.unsigned === true,
    resume: input.resume === true,
    dryRun: input.dry_run === true,
    json: globals.json === true,
  }
  return runProgram('restore', options, terminal)
}

/** `uk doctor`: checks the instance. */
export async function doctor(words: readonly string[], terminal: Terminal): Promise<number> {
  const { globals } = await parseArguments(words, [], readText)
  return runProgram('doctor', { json: globals.json === true }, terminal)
}

/** The passphrase: from a file, UK_BACKUP_PASSPHRASE, or a prompt. A new one is typed twice because it isn't shown. */
async function passphraseFor(
  { passphrase_file: file }: Record<string, unknown>,
  globals: Globals,
  terminal: Terminal,
  which: 'new' | 'known',
): Promise<string> {
  if (file !== undefined) return (await readText(String(file))).replace(/\r?\n$/, '')
  if (terminal.env.UK_BACKUP_PASSPHRASE) return terminal.env.UK_BACKUP_PASSPHRASE
  const typed = await askHidden('Passphrase for the root key', '--passphrase-file', globals, terminal)
  if (which === 'known' || (await askHidden('Repeat passphrase', '--passphrase-file', globals, terminal)) === typed)
    return typed
  throw new Stop('usage', "The passphrases don't match.", 'Try again.')
}

/** Runs the program with its options on stdin: command lines are visible to all users of the machine. */
function runProgram(command: string, options: object, terminal: Terminal): Promise<number> {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', program, command], {
    stdio: ['pipe', 'inherit', 'inherit'],
    env: terminal.env,
  })
  // A terminal signals both processes. The program cleans up while this one waits.
  const pass = (signal: NodeJS.Signals): void => void child.kill(signal)
  const ignore = (): void => {}
  process.on('SIGINT', ignore).on('SIGTERM', pass)
  child.stdin.on('error', () => {})
  child.stdin.end(JSON.stringify(options))
  return new Promise((done, failed) => {
    child.once('error', failed)
    child.once('close', (code, signal) => {
      process.off('SIGINT', ignore).off('SIGTERM', pass)
      if (signal !== null) terminal.err(`uk: stopped by ${signal}.`)
      done(code ?? codeOf('failure'))
    })
  })
}
