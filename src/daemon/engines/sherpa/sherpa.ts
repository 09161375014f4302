import { refuse } from '#core/errors.ts'
import type { Answer, Call, Engine, EngineRow, ModelRow, Progress } from '../engine.ts'
import { PackagedEngine } from '../packaged.ts'
import { wholeAnswer } from '../process.ts'
import type { ModelStore } from '../store.ts'
import { SHERPA_VERSION, install, installed } from './install.ts'

export interface SherpaOptions {
  folder: string
  store: ModelStore
  program: readonly string[]
}

export class SherpaEngine implements Engine, AsyncDisposable {
  readonly name = 'sherpa'
  readonly #store: ModelStore
  readonly #engine: PackagedEngine
  #loaded = new Set<string>()

  constructor({ store, ...own }: SherpaOptions) {
    this.#store = store
    this.#engine = new PackagedEngine(
      { name: 'sherpa', label: 'sherpa-onnx', version: SHERPA_VERSION, installed, install },
      {
        ...own,
        words: (socket, place) => {
          this.#loaded = new Set()
          return [socket, place]
        },
      },
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
    const running = this.#engine.process.status === 'running'
    return (await this.#store.list('sherpa')).map(({ path, row }) => ({
      ...row,
      loaded: running && this.#loaded.has(path),
    }))
  }

  /** The engine frees memory only when its process exits. The next call restarts it. */
  async unload(model: string | null): Promise<void> {
    if (model !== null && !this.#loaded.has((await this.#store.find(model)).path)) return
    await this.stop()
  }

  async remove(model: string): Promise<void> {
    await this.unload(model)
    await this.#store.remove(model)
  }

  async call({ model, path, body, signal }: Call): Promise<Answer> {
    const stored = await this.#store.find(model)
    if (path !== 'audio/transcriptions' || stored.speech === null)
      return refuse('invalid_parameter', { param: 'model', message: `${model} supports only transcription.` })
    await this.#engine.place()
    const headers = {
      'x-model-path': encodeURIComponent(stored.path),
      'x-model-files': encodeURIComponent(JSON.stringify(stored.speech)),
    }
    const response = await this.#engine.process.ask(`/${path}`, headers, body, signal)
    this.#loaded.add(stored.path)
    return {
      status: response.statusCode ?? 500,
      type: response.headers['content-type'] ?? 'application/json',
      body: wholeAnswer(response, signal),
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#engine.process[Symbol.asyncDispose]()
  }
}
