import { mkdir } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { refuse } from '#kernel/errors.ts'
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
import { EngineProcess, wholeAnswer } from '../process.ts'
import type { ModelStore } from '../store.ts'
import { LLAMA_VERSION, install, installed, nvidia } from './install.ts'

export interface LlamaOptions {
  /** Where the engine is installed. */
  folder: string
  store: ModelStore
  /** What runs the engine's own process, before its arguments. */
  program: readonly string[]
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
  readonly #process: EngineProcess
  #installing = false

  constructor(options: LlamaOptions) {
    this.#options = { context: DEFAULT_CONTEXT, gpu: 'auto', ...options }
    const { folder, program, context, gpu } = this.#options
    this.#process = new EngineProcess({
      label: 'llama.cpp',
      program,
      words: async (socket) => ['llama', socket, await placeOf(folder), String(context), gpu],
    })
  }

  async row(): Promise<EngineRow> {
    const there = await installed(this.#options.folder)
    const status = this.#installing ? 'installing' : (this.#process.status ?? (there ? 'stopped' : 'absent'))
    return { name: 'llama', status, version: there ? LLAMA_VERSION : null, reason: this.#process.reason }
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
    await this.#process.start()
  }

  stop(): Promise<void> {
    return this.#process.stop()
  }

  async models(): Promise<ModelRow[]> {
    const loaded = new Map((await this.#loaded()).loaded.map(({ path, context }) => [path, context]))
    return (await this.#options.store.list('llama')).map(({ path, row }) => ({
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
    await placeOf(this.#options.folder)
    if (path === 'audio/transcriptions')
      refuse('invalid_parameter', { param: 'model', message: `${model} answers in text: sound is not read by it.` })
    const response = await this.#ask(`/${path}`, found.path, model, body, signal)
    return {
      status: response.statusCode ?? 500,
      type: response.headers['content-type'] ?? 'application/json',
      body: wholeAnswer(response, signal),
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#process[Symbol.asyncDispose]()
  }

  async #loaded(): Promise<{ loaded: Loaded[]; memory_bytes: number | null }> {
    const none = { loaded: [], memory_bytes: null }
    if (this.#process.status !== 'running') return none
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

  #ask(
    path: string,
    model: string,
    name: string,
    body: Buffer | null,
    signal: AbortSignal | null,
  ): Promise<IncomingMessage> {
    const headers = { 'x-model-path': encodeURIComponent(model), 'x-model-name': name }
    return this.#process.ask(path, headers, body, signal)
  }
}

const placeOf = async (folder: string): Promise<string> =>
  (await installed(folder)) ??
  refuse('engine_not_ready', { message: 'llama.cpp is not installed on the computer: start it first.' })
