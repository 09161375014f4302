import { constants } from 'node:os'
import { contracts } from '#modules/contracts.ts'
import { readEvents } from '../../../sse.ts'
import { ApiError } from '../../../client.ts'
import { Stop, codeOf, exitFor } from '../../exit.ts'
import type { Globals } from '../../globals.ts'
import { parseArguments } from '../../input/arguments.ts'
import { textField } from '../../input/fields.ts'
import { readText } from '../../input/input.ts'
import { Unreachable } from '../../server/send.ts'
import type { Terminal } from '../../terminal.ts'
import { type Piped, pipeTo, piped } from './stdin.ts'
import { type Target, computerNamed } from './target.ts'

/** Exit code of timeout(1). */
const TIMED_OUT = 124

const fields = [
  ...['cwd', 'user', 'timeout'].map(textField),
  { ...textField('env'), kind: 'list' as const },
  { ...textField('detach'), kind: 'switch' as const },
  { ...textField('computer'), inPath: true },
]

interface ExecInput {
  computer?: string
  cwd?: string
  user?: string
  timeout?: string
  env?: string[]
  detach?: boolean
}

interface Command {
  argv: readonly string[]
  timeout_ms: number | null
  cwd?: string
  user?: string
  env?: Record<string, string>
}

/**
 * Runs a command as if it ran locally: streams stdout and stderr, pipes stdin, and returns its exit code, or 128 plus
 * the signal number. Ctrl-C stops it. With `--detach` it continues as an operation.
 */
export async function exec(words: readonly string[], terminal: Terminal): Promise<number> {
  const cut = words.indexOf('--')
  const argv = cut < 0 ? [] : words.slice(cut + 1)
  if (argv.length === 0)
    throw new Stop('usage', 'Missing command.', 'Put it after two dashes: uk computer exec box -- ls -l')
  // As in docker(1).
  const own = words.slice(0, cut).map((word) => (word === '-d' ? '--detach' : word))
  const { input, globals } = await parseArguments(own, fields, readText)
  const { computer, cwd, user, timeout, env = [], detach = false } = input as ExecInput
  if (computer === undefined) throw new Stop('usage', 'Missing computer.', 'Example: uk computer exec box -- ls -l')
  const command: Command = {
    argv,
    timeout_ms: timeout === undefined ? null : secondsOf(timeout),
    ...(cwd !== undefined && { cwd }),
    ...(user !== undefined && { user }),
    ...(env.length > 0 && { env: Object.fromEntries(env.map(variable)) }),
  }
  const target = await computerNamed(computer, globals, terminal)
  return detach ? begin(target, command, globals, terminal) : follow(target, command, terminal)
}

async function begin({ id, call }: Target, command: object, globals: Globals, terminal: Terminal): Promise<number> {
  const { endpoints } = await contracts.computers()
  const text = await (await call(endpoints.exec, { id, ...command, background: true })).text()
  const operation = (JSON.parse(text) as { data: { id: string } }).data.id
  await terminal.out(`${globals.json ? text : operation}\n`)
  if (terminal.interactive)
    terminal.err(
      `Running in the background. Show its output: uk operations content ${operation}. Stop it: uk operations cancel ${operation}`,
    )
  return codeOf('ok')
}

async function follow(target: Target, command: Command, terminal: Terminal): Promise<number> {
  return runOn(target, command, await piped(), terminal)
}

const withStdin = (stdin: Piped): object =>
  stdin.type === 'nothing'
    ? {}
    : stdin.type === 'whole'
      ? { stdin_base64: stdin.bytes.toString('base64') }
      : { stdin_open: true }

async function runOn(target: Target, command: Command, stdin: Piped, terminal: Terminal): Promise<number> {
  const { id, call } = target
  const { endpoints } = await contracts.computers()
  const leaving = new AbortController()
  const leave = (): void => leaving.abort()
  /** The error that stopped piping stdin, which also stops the command. */
  let unfed: unknown
  const feed = (execId: string): void => {
    if (stdin.type === 'stream')
      void pipeTo(target, execId, stdin.source, leaving.signal).catch((error: unknown) => {
        unfed = error
        leave()
      })
  }
  process.once('SIGINT', leave).once('SIGTERM', leave)
  try {
    const answer = await call(
      endpoints.exec,
      { id, ...command, ...withStdin(stdin), encoding: 'base64' },
      { headers: { accept: 'text/event-stream' }, signal: leaving.signal },
    )
    const events = readEvents(answer.bytes())
    for (;;) {
      const next = await events.next().catch((error: unknown) => broken(error))
      if (next === null || next.done) throw leaving.signal.aborted ? new Stop('interrupted', '') : await cutOff(target)
      const { event, data } = next.value
      if (event === 'exec.started') feed((data as { id: string }).id)
      else if (event === 'stdout') await terminal.out(bytesOf(data))
      else if (event === 'stderr') process.stderr.write(bytesOf(data))
      else if (event === 'exec.completed') return exitOf(data as Completed)
      else if (event === 'exec.failed') throw failed(data as Failed, target)
    }
  } catch (error) {
    if (unfed !== undefined) throw unfed
    if (leaving.signal.aborted) return codeOf('interrupted')
    throw error
  } finally {
    process.off('SIGINT', leave).off('SIGTERM', leave)
  }
}

function broken(error: unknown): null {
  if (error instanceof Unreachable) return null
  throw error
}

const lostOn = (name: string): string =>
  `You no longer have permission to run commands on "${name}", so this command was stopped.`

/** Why a stream ended before its command: a lost permission is reported as such, not as an unreachable server. */
async function cutOff({ id, name, call }: Target): Promise<Stop> {
  const { endpoints } = await contracts.computers()
  try {
    const answer = await call(endpoints.get, { id })
    const { data } = JSON.parse(await answer.text()) as { data: { my_capabilities: string[] } }
    if (!data.my_capabilities.includes('exec')) return new Stop('auth', lostOn(name))
  } catch (error) {
    if (error instanceof ApiError && [401, 403, 404, 410].includes(error.status))
      return new Stop(exitFor(error.status), lostOn(name))
  }
  return new Stop('unreachable', 'Lost the connection. The command may still be running.')
}

interface Failed {
  error: { type: string; message: string }
}

function failed({ error: { type, message } }: Failed, { name }: Target): Stop {
  if (type === 'not_found') return new Stop('not_found', lostOn(name))
  if (type === 'forbidden' || type === 'unauthenticated') return new Stop('auth', lostOn(name))
  return new Stop('unreachable', message)
}

interface Completed {
  exit_code: number | null
  signal: string | null
  timed_out: boolean
}

function exitOf({ exit_code, signal, timed_out }: Completed): number {
  if (timed_out) return TIMED_OUT
  return exit_code ?? 128 + (constants.signals[signal as NodeJS.Signals] ?? 0)
}

const bytesOf = (data: unknown): Buffer => Buffer.from((data as { data_base64: string }).data_base64, 'base64')

function variable(word: string): [string, string] {
  const equals = word.indexOf('=')
  if (equals < 1) throw new Stop('usage', `--env ${word}: use NAME=value.`)
  return [word.slice(0, equals), word.slice(equals + 1)]
}

function secondsOf(word: string): number {
  const seconds = Number(word)
  if (!(seconds > 0 && seconds <= 86_400))
    throw new Stop('usage', `--timeout must be a number of seconds up to 86,400, not ${word}.`)
  return Math.ceil(seconds * 1000)
}
