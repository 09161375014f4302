import type { IncomingMessage } from 'node:http'
import { refuse } from '#core/errors.ts'
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
import { PackagedEngine } from '../packaged.ts'
import { wholeAnswer } from '../process.ts'
import type { ModelStore } from '../store.ts'
import { LLAMA_VERSION, install, installed, nvidia } from './install.ts'

export interface LlamaOptions {
  folder: string
  store: ModelStore
  program: readonly string[]
  /** The token limit per model. Memory for it is allocated on load. */
  context?: number
  gpu?: Gpu
}

interface Loaded {
  path: string
  /** The context it was loaded with, in tokens. Null: not yet allocated. */
  context: number | null
}

/** Runs llama.cpp in a separate process, started on first use and again after a crash. */
export class LlamaEngine implements Engine, AsyncDisposable {
  readonly name = 'llama'
  readonly #store: ModelStore
  readonly #context: number
  readonly #engine: PackagedEngine

  constructor({ store, context = DEFAULT_CONTEXT, gpu = 'auto', ...own }: LlamaOptions) {
    this.#store = store
    this.#context = context
    this.#engine = new PackagedEngine(
      { name: 'llama', label: 'llama.cpp', version: LLAMA_VERSION, installed, install },
      { ...own, words: (socket, place) => [socket, place, String(context), gpu] },
    )
  }

  row(): Promise<EngineRow> {
    return this.#engine.row()
  }

  start(progress: Progress, signal: AbortSignal): Promise<void> {
    return this.#engine.start(progress, signal)
  }

  stop(): Promise<void> {
    return this.#engine.process.stop()
  }

  async models(): Promise<ModelRow[]> {
    const loaded = new Map((await this.#loaded()).loaded.map(({ path, context }) => [path, context]))
    return (await this.#store.list('llama')).map(({ path, row }) => ({
      ...row,
      // Too little memory reduces the context.
      context_length: loaded.get(path) ?? Math.min(this.#context, row.context_length ?? Infinity),
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
    const paths = model === null ? loaded : [(await this.#store.find(model)).path]
    for (const path of paths) if (loaded.includes(path)) (await this.#ask('/unload', path, '', null, null)).resume()
  }

  async remove(model: string): Promise<void> {
    await this.unload(model)
    await this.#store.remove(model)
  }

  async call({ model, path, body, signal }: Call): Promise<Answer> {
    const stored = await this.#store.find(model)
    await this.#engine.place()
    if (path === 'audio/transcriptions')
      refuse('invalid_parameter', { param: 'model', message: `${model} is a text model. It doesn’t accept audio.` })
    const response = await this.#ask(`/${path}`, stored.path, model, body, signal)
    return {
      status: response.statusCode ?? 500,
      type: response.headers['content-type'] ?? 'application/json',
      body: wholeAnswer(response, signal),
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#engine.process[Symbol.asyncDispose]()
  }

  async #loaded(): Promise<{ loaded: Loaded[]; memory_bytes: number | null }> {
    const none = { loaded: [], memory_bytes: null }
    if (this.#engine.process.status !== 'running') return none
    try {
      const response = await this.#ask('/loaded', '', '', null, null)
      let json = ''
      for await (const part of response as AsyncIterable<Buffer>) json += part.toString()
      return JSON.parse(json) as { loaded: Loaded[]; memory_bytes: number }
    } catch {
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
    return this.#engine.process.ask(path, headers, body, signal)
  }
}
