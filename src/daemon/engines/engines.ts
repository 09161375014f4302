import { join } from 'node:path'
import type { z } from 'zod'
import { Refusal, refuse } from '#core/errors.ts'
import { type CallHead, type Input, MAX_MODELS, type Output } from '#daemon-protocol/operations.ts'
import type { Stream } from '#packages/mux/stream.ts'
import type { Engine, EngineName, Gpu, ModelRow } from './engine.ts'
import { Installer } from './installer.ts'
import { LlamaEngine } from './llama/llama.ts'
import { OllamaEngine } from './ollama.ts'
import { ownProgram, sweepRooms } from './process.ts'
import { SherpaEngine } from './sherpa/sherpa.ts'
import { ModelStore } from './store.ts'

export interface EnginesOptions {
  /** The folder of engines and models. */
  folder: string
  /** `http://127.0.0.1:11434` */
  ollama: string
  /** Tokens of context that Ollama gives a model by default. */
  ollamaContext?: number
  /** `host:port` of this computer or its network that models may be downloaded from. */
  local?: readonly string[]
  /** The folder where engines are installed, if not in `folder`. */
  installed?: string
  /** The maximum tokens of context that llama.cpp gives a model. */
  context?: number
  /** `off`: llama.cpp doesn't use the graphics card. */
  gpu?: Gpu
  /** The program that runs the engines' own processes. */
  program?: readonly string[]
}

type Signal = { signal: AbortSignal }

/** The daemon's operations on engines for local models, by name. */
export const createEngines = (options: EnginesOptions): Engines => new Engines(options)

class Engines implements AsyncDisposable {
  readonly handlers = {
    'engine.control': (input: Input<'engine.control'>, _: Stream, { signal }: Signal) => this.#control(input, signal),
    'engine.models': () => this.#listModels(),
    'engine.install': (input: Input<'engine.install'>, stream: Stream, { signal }: Signal) =>
      this.#installer.install(input, stream, signal),
    'engine.remove': ({ name }: Input<'engine.remove'>) => this.#remove(name),
    'engine.call': (input: Input<'engine.call'>, stream: Stream, { signal }: Signal) =>
      this.#call(input, stream, signal),
  }

  readonly #engines: { llama: LlamaEngine; sherpa: SherpaEngine; ollama: OllamaEngine }
  readonly #store: ModelStore
  readonly #installer: Installer

  constructor({
    folder,
    ollama,
    ollamaContext,
    local = [],
    installed = join(folder, 'installed'),
    program = ownProgram(),
    ...llamaOptions
  }: EnginesOptions) {
    this.#store = new ModelStore(join(folder, 'models'))
    const shared = { folder: installed, store: this.#store, program }
    this.#engines = {
      llama: new LlamaEngine({ ...llamaOptions, ...shared }),
      sherpa: new SherpaEngine(shared),
      ollama: new OllamaEngine(ollama, ollamaContext),
    }
    this.#installer = new Installer({ engines: this.#engines, store: this.#store, local })
    void this.#store.sweep().catch(() => {})
    void sweepRooms().catch(() => {})
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { llama, sherpa } = this.#engines
    await Promise.all([llama, sherpa].map((engine) => engine[Symbol.asyncDispose]()))
  }

  async #control(
    { action, engine, model }: Input<'engine.control'>,
    signal: AbortSignal,
  ): Promise<Output<'engine.control'>> {
    const chosen = this.#engines[engine ?? (await this.#defaultEngine())]
    if (action === 'start') {
      const { status } = await chosen.row()
      if (chosen !== this.#engines.ollama && (status === 'absent' || status === 'installing'))
        refuse('engine_not_ready', {
          message: `${chosen === this.#engines.llama ? 'llama.cpp' : 'sherpa-onnx'} isn’t installed on the computer yet.`,
          details: { engine: chosen.name, status },
        })
      await chosen.start(() => {}, signal)
    }
    if (action === 'stop') await chosen.stop()
    if (action === 'unload') await (model === null ? chosen : await this.#engineOf(model)).unload(model)
    const [rows, { models }] = await Promise.all([
      Promise.all(Object.values(this.#engines).map((each) => each.row())),
      this.#listModels(),
    ])
    return {
      engine: engine ?? (await this.#defaultEngine()),
      engines: rows,
      loaded: models.filter(({ loaded }) => loaded).map(({ name }) => name),
      gpu: await this.#engines.llama.gpu(),
      memory_bytes: await this.#engines.llama.memoryBytes(),
    }
  }

  async #remove(name: string): Promise<Output<'engine.remove'>> {
    if (this.#installer.isInstalling(name))
      refuse('invalid_state', {
        message: `${name} is being installed. Cancel the installation first.`,
        details: { status: 'installing', allowed: ['ready', 'broken'] },
      })
    await (await this.#engineOf(name)).remove(name)
    return {}
  }

  /** Ollama if it runs, unless llama.cpp is installed. */
  async #defaultEngine(): Promise<EngineName> {
    if ((await this.#engines.llama.row()).status !== 'absent') return 'llama'
    return (await this.#engines.ollama.row()).status === 'running' ? 'ollama' : 'llama'
  }

  async #listModels(): Promise<Output<'engine.models'>> {
    // A failing Ollama must not hide the models of llama.cpp.
    const [texts, speech, ollamaModels] = await Promise.all([
      this.#engines.llama.models(),
      this.#engines.sherpa.models(),
      this.#engines.ollama.models().catch(() => null),
    ])
    const rows = [...texts, ...speech, ...(ollamaModels ?? [])]
    const arriving = this.#installer.models().filter((name) => !rows.some((row) => row.name === name))
    const models = [...arriving.map(arrivingRow), ...rows].slice(0, MAX_MODELS)
    return { models, silent: ollamaModels === null ? ['ollama'] : [] }
  }

  async #engineOf(model: string): Promise<Engine> {
    const stored = await this.#store.find(model).catch((error) => {
      if (error instanceof Refusal && error.code === 'not_found') return null
      throw error
    })
    if (stored) return this.#engines[stored.row.engine]
    const ollamaModels = await this.#engines.ollama.models().catch((error) => {
      // Only Ollama's names have a tag.
      if (/:[^/]+$/.test(model)) throw error
      return []
    })
    return ollamaModels.some(({ name }) => name === model)
      ? this.#engines.ollama
      : refuse('not_found', { param: 'model', message: `The computer has no model ${model}.` })
  }

  async #call(
    { model, path }: Input<'engine.call'>,
    stream: Stream,
    signal: AbortSignal,
  ): Promise<Output<'engine.call'>> {
    const engine = await this.#engineOf(model)
    const parts: Buffer[] = []
    for await (const each of stream) {
      if (each.type === 'finished') break
      // The link reuses a frame's bytes for the next frame.
      if (each.type === 'bytes') parts.push(Buffer.from(each.bytes))
    }
    const body = withModel(Buffer.concat(parts), model)
    const answer = await engine.call({ model, path, body, signal })
    stream.event({
      type: 'head',
      status: answer.status,
      content_type: answer.type,
    } satisfies z.input<typeof CallHead>)
    for await (const bytes of answer.body) await stream.write(bytes)
    return {}
  }
}

/** Replaces the request's model with its name on this computer. */
function withModel(body: Buffer, model: string): Buffer {
  try {
    const request: unknown = JSON.parse(body.toString())
    if (typeof request === 'object' && request !== null) return Buffer.from(JSON.stringify({ ...request, model }))
  } catch {
    // Refused below.
  }
  return refuse('malformed_json')
}

const arrivingRow = (name: string): ModelRow => ({
  name,
  engine: 'llama',
  size_bytes: 0,
  digest: null,
  context_length: null,
  quantization: null,
  status: 'installing',
  loaded: false,
  embeds: false,
})
