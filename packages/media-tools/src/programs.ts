import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

/** A program failed. `message` has its name and last output line, without paths. */
export class ProgramFailed extends Error {
  override name = 'ProgramFailed'
}

export interface ProgramLimits {
  timeMs: number
  memoryMb: number
}

const LAST_WORDS = 2_000

export async function findProgram(name: string, path = process.env.PATH ?? ''): Promise<string | null> {
  for (const folder of path.split(delimiter).filter((folder) => folder.startsWith('/'))) {
    const candidate = join(folder, name)
    const there = await access(candidate, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (there) return candidate
  }
  return null
}

/**
 * Runs a program and yields its output while feeding it `input`. It runs in its own process group without this server's
 * environment, and is killed on timeout, abort, or when the reader stops. Throws `ProgramFailed`.
 */
export async function* runProgram(
  program: string,
  args: readonly string[],
  input: AsyncIterable<Uint8Array> | Uint8Array | null,
  { timeMs, memoryMb, signal }: ProgramLimits & { signal?: AbortSignal | undefined },
): AsyncGenerator<Uint8Array, void, undefined> {
  signal?.throwIfAborted()
  // The limit uses the shell's `ulimit`; without it, the program runs unlimited.
  const child = spawn('/bin/sh', ['-c', LIMITED, 'sh', String(memoryMb * 1024), program, ...args], {
    detached: true,
    env: { PATH: '/usr/local/bin:/usr/bin:/bin', LANG: 'C.UTF-8' },
    stdio: ['pipe', 'pipe', 'pipe'],
  }) as ChildProcessByStdio<Writable, Readable, Readable>
  let why: Error | null = null
  const kill = (reason: Error | null): void => {
    why ??= reason
    try {
      process.kill(-child.pid!, 'SIGKILL')
    } catch {
      // Already ended.
    }
  }
  const leave = (): void => kill(signal!.reason as Error)
  signal?.addEventListener('abort', leave, { once: true })
  const late = setTimeout(
    () => kill(new ProgramFailed(`${nameOf(program)} took longer than ${timeMs / 1000} s.`)),
    timeMs,
  )
  let output = ''
  child.stderr.on('data', (part: Buffer) => (output = (output + part.toString('latin1')).slice(-LAST_WORDS)))
  const exit = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  exit.catch(() => {})
  const writing = (input === null ? Promise.resolve(child.stdin.end()) : feed(child.stdin, input)).catch(
    (error: unknown) => {
      // Unread input isn't an error; an input that can't be read ends the program.
      if ((error as NodeJS.ErrnoException).code !== 'EPIPE') kill(error as Error)
    },
  )
  try {
    for await (const part of child.stdout) yield part as Buffer
    await writing
    const code = await exit
    if (why !== null) throw why
    if (code !== 0) throw new ProgramFailed(`${nameOf(program)} failed: ${wordsOf(output)}`)
  } finally {
    clearTimeout(late)
    signal?.removeEventListener('abort', leave)
    kill(null)
  }
}

const LIMITED = 'ulimit -v "$1" 2>/dev/null; shift; exec "$@"'

const feed = (to: Writable, input: AsyncIterable<Uint8Array> | Uint8Array): Promise<void> =>
  pipeline(Readable.from(Symbol.asyncIterator in input ? input : [input]), to)

const nameOf = (program: string): string => program.slice(program.lastIndexOf('/') + 1)

const wordsOf = (output: string): string =>
  output
    .split('\n')
    .map((line) =>
      line
        .replaceAll(/[^\x20-\x7e]/g, '')
        .replaceAll(/(?:\/[\w.-]+){2,}/g, '…')
        .trim(),
    )
    .findLast((line) => line !== '')
    ?.slice(0, 200) ?? 'it gave no reason.'
