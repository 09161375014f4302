import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { type IncomingMessage, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { Refusal, refuse } from '#kernel/errors.ts'
import {
  type Answer,
  type Call,
  DEFAULT_CONTEXT,
  type Engine,
  type EngineRow,
  type Gpu,
  type ModelRow,
  type Progress,
} from '../engine.ts'
import { LLAMA_VERSION, install, installed, nvidia } from './install.ts'
import { type ModelStore } from './store.ts'

const START_MS = 60_000

interface Running {
  child: ChildProcess
  socket: string
}

export interface LlamaOptions {
  /** Where the engine is installed. */
  folder: string
  store: ModelStore
  /** What runs the engine's own process, before its arguments. */
  program?: readonly string[]
  /** Tokens of context that a model is given, at most: memory for them is taken when it is loaded. */
  context?: number
  gpu?: Gpu
}

/** A model in the memory of the engine. */
interface Loaded {
  path: string
  /** Tokens of context that it was given; null: none yet. */
  context: number | null
}

/** llama.cpp in a process of its own, begun when it is first needed and again after it crashed. */
export class LlamaEngine implements Engine, AsyncDisposable {
  readonly name = 'llama'
  readonly #options: Required<LlamaOptions>
  #running: Promise<Running> | null = null
  #installing = false
  #reason: string | null = null
  #closed = false

  constructor(options: LlamaOptions) {
    const own = [
      process.execPath,
      '--disable-warning=ExperimentalWarning',
      fileURLToPath(new URL('./main.ts', import.meta.url)),
    ]
    this.#options = { program: own, context: DEFAULT_CONTEXT, gpu: 'auto', ...options }
  }

  async row(): Promise<EngineRow> {
    const there = await installed(this.#options.folder)
    const status = this.#installing
      ? 'installing'
      : this.#running
        ? 'running'
        : this.#reason !== null
          ? 'failed'
          : there
            ? 'stopped'
            : 'absent'
    return { name: 'llama', status, version: there ? LLAMA_VERSION : null, reason: this.#reason }
  }

  /** Installs it where it is absent. */
  async start(progress: Progress, signal: AbortSignal): Promise<void> {
    this.#installing = true
    try {
      progress('downloading', 0, 0)
      await mkdir(this.#options.folder, { recursive: true, mode: 0o700 })
      await install(this.#options.folder, signal)
    } finally {
      this.#installing = false
    }
    progress('loading', 0, 0)
    await this.#process()
  }

  async stop(): Promise<void> {
    const running = await this.#running?.catch(() => null)
    this.#running = null
    this.#reason = null
    if (!running || running.child.exitCode !== null || running.child.signalCode !== null) return
    const ended = once(running.child, 'exit')
    running.child.kill('SIGKILL')
    await ended
  }

  async models(): Promise<ModelRow[]> {
    const loaded = new Map((await this.#loaded()).loaded.map(({ path, context }) => [path, context]))
    return (await this.#options.store.list()).map(({ path, ...row }) => ({
      ...row,
      // With too little memory it was given less.
      context_length: loaded.get(path) ?? Math.min(this.#options.context, row.context_length ?? Infinity),
      loaded: loaded.has(path),
    }))
  }

  async memoryBytes(): Promise<number | null> {
    return (await this.#loaded()).memory_bytes
  }

  gpu(): Promise<string | null> {
    return nvidia()
  }

  async unload(model: string | null): Promise<void> {
    const loaded = (await this.#loaded()).loaded.map(({ path }) => path)
    const paths = model === null ? loaded : [(await this.#options.store.find(model)).path]
    for (const path of paths) if (loaded.includes(path)) (await this.#ask('/unload', path, '', null, null)).resume()
  }

  async remove(model: string): Promise<void> {
    await this.unload(model)
    await this.#options.store.remove(model)
  }

  async call({ model, path, body, signal }: Call): Promise<Answer> {
    const found = await this.#options.store.find(model)
    if ((await installed(this.#options.folder)) === null)
      refuse('engine_not_ready', { message: 'llama.cpp is not installed on the computer: start it first.' })
    const response = await this.#ask(`/${path}`, found.path, model, body, signal)
    return {
      status: response.statusCode ?? 500,
      type: response.headers['content-type'] ?? 'application/json',
      body: whole(response, signal),
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true
    await this.stop()
  }

  async #loaded(): Promise<{ loaded: Loaded[]; memory_bytes: number | null }> {
    const none = { loaded: [], memory_bytes: null }
    if (!this.#running) return none
    try {
      const response = await this.#ask('/loaded', '', '', null, null)
      let json = ''
      for await (const part of response as AsyncIterable<Buffer>) json += part.toString()
      return JSON.parse(json) as { loaded: Loaded[]; memory_bytes: number }
    } catch {
      // It ended meanwhile, and what it held with it.
      return none
    }
  }

  #process(): Promise<Running> {
    if (this.#closed) refuse('shutting_down')
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
    const place = await installed(this.#options.folder)
    if (place === null)
      refuse('engine_not_ready', { message: 'llama.cpp is not installed on the computer: start it first.' })
    const room = await mkdtemp(join(tmpdir(), 'uk-llama-'))
    await chmod(room, 0o700)
    const socket = join(room, 'socket')
    const [program, ...args] = this.#options.program
    // Only what a program needs to run: no credential of the daemon's own.
    const env = Object.fromEntries(
      ['PATH', 'HOME', 'LANG', 'LD_LIBRARY_PATH', 'CUDA_VISIBLE_DEVICES'].flatMap((name) =>
        process.env[name] === undefined ? [] : [[name, process.env[name]]],
      ),
    )
    const { context, gpu } = this.#options
    const child = spawn(program!, [...args, socket, place, String(context), gpu], {
      stdio: ['pipe', 'pipe', 'pipe'],
      env,
      cwd: room,
    })
    let said = ''
    child.stderr.on('data', (bytes: Buffer) => void (said = (said + bytes.toString()).slice(-2_000)))
    child.once('exit', (code, signal) => {
      onEnd(code === 0 ? null : `The engine ended with ${signal ?? `code ${code}`}; the next call starts it again.`)
      void rm(room, { recursive: true, force: true })
    })
    const late = setTimeout(() => child.kill('SIGKILL'), START_MS)
    try {
      for await (const line of createInterface({ input: child.stdout })) {
        if ((JSON.parse(line) as { ready?: boolean }).ready) return { child, socket }
      }
      return refuse('engine_not_ready', {
        message: `llama.cpp did not start: ${said.trim().split('\n').at(-1) || 'it ended'}.`,
      })
    } finally {
      clearTimeout(late)
    }
  }

  async #ask(
    path: string,
    model: string,
    name: string,
    body: Buffer | null,
    signal: AbortSignal | null,
  ): Promise<IncomingMessage> {
    const { socket } = await this.#process()
    return new Promise((resolve, reject) => {
      const asked = request({
        socketPath: socket,
        path,
        method: body === null ? 'GET' : 'POST',
        headers: {
          'x-model-path': encodeURIComponent(model),
          'x-model-name': name,
          ...(body && { 'content-length': body.length }),
        },
        ...(signal && { signal }),
      })
      asked.once('response', resolve)
      asked.once('error', (error) => {
        if (signal?.aborted) return reject(signal.reason as Error)
        reject(new Refusal('engine_not_ready', { message: `The engine ended while it worked: ${error.message}.` }))
      })
      asked.end(body ?? undefined)
    })
  }
}

/** An answer to its end; one that breaks off says that it was the engine that ended. */
async function* whole(response: IncomingMessage, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  try {
    yield* response as AsyncIterable<Buffer>
  } catch {
    signal.throwIfAborted()
    refuse('engine_not_ready', { message: 'The engine ended in the middle of its answer.' })
  }
}
