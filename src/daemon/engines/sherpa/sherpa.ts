import { mkdir } from 'node:fs/promises'
import { refuse } from '#kernel/errors.ts'
import type { Answer, Call, Engine, EngineRow, ModelRow, Progress } from '../engine.ts'
import { EngineProcess, wholeAnswer } from '../process.ts'
import type { ModelStore } from '../store.ts'
import { SHERPA_VERSION, install, installed } from './install.ts'

export interface SherpaOptions {
  /** Where the engine is installed. */
  folder: string
  store: ModelStore
  /** What runs the engine's own process, before its arguments. */
  program: readonly string[]
}

/** sherpa-onnx in a process of its own: models that write down speech. */
export class SherpaEngine implements Engine, AsyncDisposable {
  readonly name = 'sherpa'
  readonly #options: SherpaOptions
  readonly #process: EngineProcess
  #installing = false
  /** The folders of the models that its process was asked for. */
  #loaded = new Set<string>()

  constructor(options: SherpaOptions) {
    this.#options = options
    this.#process = new EngineProcess({
      label: 'sherpa-onnx',
      program: options.program,
      words: async (socket) => {
        this.#loaded = new Set()
        return ['sherpa', socket, await placeOf(options.folder)]
      },
    })
  }

  async row(): Promise<EngineRow> {
    const there = await installed(this.#options.folder)
    const status = this.#installing ? 'installing' : (this.#process.status ?? (there ? 'stopped' : 'absent'))
    return { name: 'sherpa', status, version: there ? SHERPA_VERSION : null, reason: this.#process.reason }
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
    const running = this.#process.status === 'running'
    return (await this.#options.store.list('sherpa')).map(({ path, row }) => ({
      ...row,
      loaded: running && this.#loaded.has(path),
    }))
  }

  /** The engine gives memory back only with its process, which the next call starts again. */
  async unload(model: string | null): Promise<void> {
    if (model !== null && !this.#loaded.has((await this.#options.store.find(model)).path)) return
    await this.stop()
  }

  async remove(model: string): Promise<void> {
    await this.unload(model)
    await this.#options.store.remove(model)
  }

  async call({ model, path, body, signal }: Call): Promise<Answer> {
    const found = await this.#options.store.find(model)
    if (path !== 'audio/transcriptions' || found.speech === null)
      return refuse('invalid_parameter', { param: 'model', message: `${model} writes down speech, and nothing else.` })
    await placeOf(this.#options.folder)
    const headers = {
      'x-model-path': encodeURIComponent(found.path),
      'x-model-files': encodeURIComponent(JSON.stringify(found.speech)),
    }
    const response = await this.#process.ask(`/${path}`, headers, body, signal)
    this.#loaded.add(found.path)
    return {
      status: response.statusCode ?? 500,
      type: response.headers['content-type'] ?? 'application/json',
      body: wholeAnswer(response, signal),
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#process[Symbol.asyncDispose]()
  }
}

const placeOf = async (folder: string): Promise<string> =>
  (await installed(folder)) ??
  refuse('engine_not_ready', { message: 'sherpa-onnx is not installed on the computer: start it first.' })
