import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, lstat, mkdtemp, readdir, rm } from 'node:fs/promises'
import { type IncomingMessage, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { Refusal, refuse } from '#core/errors.ts'
import { isHeld, takeLock } from '../lock.ts'
import type { EngineRow } from './engine.ts'

const START_MS = 60_000
/** The time from a broken connection to the exit of its process. */
const END_MS = 2_000
const ROOM = 'uk-engine-'
const HOLDER = 'holder'

interface Running {
  child: ChildProcess
  socket: string
}

export interface ProcessOptions {
  label: string
  program: readonly string[]
  /** The program's arguments. Throws `engine_not_ready` if not installed. */
  words(socket: string): Promise<readonly string[]>
}

/** A separate engine process with HTTP on a Unix socket, started on first use and again after a crash. */
export class EngineProcess implements AsyncDisposable {
  readonly #options: ProcessOptions
  #running: Promise<Running> | null = null
  #reason: string | null = null
  #isClosed = false

  constructor(options: ProcessOptions) {
    this.#options = options
  }

  /** Null: not running, without an error. */
  get status(): Extract<EngineRow['status'], 'running' | 'failed'> | null {
    return this.#running ? 'running' : this.#reason === null ? null : 'failed'
  }

  get reason(): string | null {
    return this.#reason
  }

  async stop(): Promise<void> {
    const running = await this.#running?.catch(() => null)
    this.#running = null
    this.#reason = null
    if (!running || running.child.exitCode !== null || running.child.signalCode !== null) return
    const exit = once(running.child, 'exit')
    running.child.kill('SIGKILL')
    await exit
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    await this.stop()
  }

  start(): Promise<Running> {
    if (this.#isClosed) refuse('shutting_down')
    if (this.#running) return this.#running
    const running: Promise<Running> = this.#begin((reason) => {
      if (this.#running !== running) return
      this.#running = null
      this.#reason = reason
    })
    this.#running = running
    running.then(
      () => (this.#reason = null),
      (error: Error) => {
        this.#reason = error.message
        if (this.#running === running) this.#running = null
      },
    )
    return running
  }

  async #begin(onEnd: (reason: string | null) => void): Promise<Running> {
    const { label, program, words } = this.#options
    const room = await mkdtemp(join(tmpdir(), ROOM))
    await chmod(room, 0o700)
    takeLock(join(room, HOLDER))
    const socket = join(room, 'socket')
    const args = await words(socket).catch(async (error) => {
      await rm(room, { recursive: true, force: true })
      throw error
    })
    // Only what a program needs, without the daemon's credentials.
    const env = Object.fromEntries(
      ['PATH', 'HOME', 'LANG', 'LD_LIBRARY_PATH', 'CUDA_VISIBLE_DEVICES'].flatMap((name) =>
        process.env[name] === undefined ? [] : [[name, process.env[name]]],
      ),
    )
    const child = spawn(program[0]!, [...program.slice(1), ...args], {
      stdio: ['pipe', 'pipe', 'pipe'],
      env,
      cwd: room,
    })
    let stderr = ''
    child.stderr.on('data', (bytes: Buffer) => void (stderr = (stderr + bytes.toString()).slice(-2_000)))
    child.once('exit', (code, signal) => {
      onEnd(
        code === 0 ? null : `The engine exited with ${signal ?? `code ${code}`}. It’s restarted with the next request.`,
      )
      void rm(room, { recursive: true, force: true })
    })
    // The program is missing or not executable, so there will be no `exit` event.
    child.once('error', (error) => {
      stderr = error.message
      void rm(room, { recursive: true, force: true })
    })
    const late = setTimeout(() => child.kill('SIGKILL'), START_MS)
    try {
      for await (const line of createInterface({ input: child.stdout })) {
        if ((JSON.parse(line) as { ready?: boolean }).ready) return { child, socket }
      }
      return refuse('engine_not_ready', {
        message: `${label} didn’t start: ${stderr.trim().split('\n').at(-1) || 'it exited'}.`,
      })
    } finally {
      clearTimeout(late)
    }
  }

  /**
   * Sends a request. One with a body starts the engine if needed and is retried once if the engine exits before
   * answering. Throws `engine_not_ready`.
   */
  async ask(
    path: string,
    headers: Readonly<Record<string, string>>,
    body: Buffer | null,
    signal: AbortSignal | null,
  ): Promise<IncomingMessage> {
    const ranBefore = this.#running !== null
    const { child, socket } = await this.start()
    try {
      return await answerOf(socket, path, headers, body, signal)
    } catch (error) {
      if (body === null || !ranBefore || !(error instanceof Refusal) || !(await ends(child))) throw error
      return answerOf((await this.start()).socket, path, headers, body, signal)
    }
  }
}

const answerOf = (
  socketPath: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body: Buffer | null,
  signal: AbortSignal | null,
): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const outgoing = request({
      socketPath,
      path,
      method: body === null ? 'GET' : 'POST',
      headers: { ...headers, ...(body && { 'content-length': body.length }) },
      ...(signal && { signal }),
    })
    outgoing.once('response', resolve)
    outgoing.once('error', (error) => {
      if (signal?.aborted) return reject(signal.reason as Error)
      reject(new Refusal('engine_not_ready', { message: `The engine exited during the request: ${error.message}.` }))
    })
    outgoing.end(body ?? undefined)
  })

/** Whether the process has exited or is about to: its connections break shortly before `exit`. */
const ends = (child: ChildProcess): Promise<boolean> =>
  new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve(true)
    const late = setTimeout(() => resolve(false), END_MS)
    child.once('exit', () => {
      clearTimeout(late)
      resolve(true)
    })
  })

export const ownProgram = (): readonly string[] => [
  process.execPath,
  '--disable-warning=ExperimentalWarning',
  fileURLToPath(new URL('./main.ts', import.meta.url)),
]

/** Yields a whole response. An interrupted one reports that the engine exited. */
export async function* wholeAnswer(response: IncomingMessage, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  try {
    yield* response as AsyncIterable<Buffer>
  } catch {
    signal.throwIfAborted()
    refuse('engine_not_ready', { message: 'The engine exited in the middle of its response.' })
  }
}

/**
 * Removes folders left by killed daemons of this user. The temporary folder is sticky, so no other user can replace
 * ours.
 */
export async function sweepRooms(folder: string = tmpdir()): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    if (!name.startsWith(ROOM)) continue
    const room = join(folder, name)
    const stats = await lstat(room).catch(() => null)
    if (!stats?.isDirectory() || stats.uid !== process.getuid?.() || (stats.mode & 0o077) !== 0) continue
    const holder = join(room, HOLDER)
    // A folder just created has no holder file yet.
    if (!(await lstat(holder).catch(() => null))?.isFile() || isHeld(holder)) continue
    await rm(room, { recursive: true, force: true }).catch(() => {})
  }
}
