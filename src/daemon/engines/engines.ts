import { join } from 'node:path'
import { stat } from 'node:fs/promises'
import type { z } from 'zod'
import { Refusal, refuse } from '#core/errors.ts'
import {
  type CallHead,
  type Input,
  type InstallProgress,
  MOST_MODELS,
  type Output,
} from '#daemon-protocol/operations.ts'
import type { Stream } from '#packages/mux/stream.ts'
import { isFull } from '../files/faults.ts'
import { digest, download, dropPart, full, throughCuts } from './download/download.ts'
import { receive } from './download/receive.ts'
import type { Engine, EngineName, Gpu, ModelRow, Progress } from './engine.ts'
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
  /** Tokens of context that Ollama gives a model that does not ask for more. */
  ollamaContext?: number
  /** `host:port` of this computer or its network that models may be fetched from. */
  local?: readonly string[]
  /** The folder where engines are installed, if not in `folder`. */
  installed?: string
  /** Tokens of context that llama.cpp gives a model, at most. */
  context?: number
  /** `off`: llama.cpp leaves the graphics card alone. */
  gpu?: Gpu
  /** The program that runs the engines' own processes. */
  program?: readonly string[]
}

/** Tells at most two a second, each new phase, and the last. */
const PROGRESS_MS = 500

/** An installation under way. */
interface Installing {
  key: string
  done: Promise<ModelRow | null>
}

/** The daemon's operations on engines for local models, by name. */
export function createEngines({
  folder,
  ollama: origin,
  ollamaContext,
  local = [],
  installed,
  program = ownProgram(),
  ...more
}: EnginesOptions) {
  const store = new ModelStore(join(folder, 'models'))
  const own = { folder: installed ?? join(folder, 'installed'), store, program }
  const llama = new LlamaEngine({ ...more, ...own })
  const sherpa = new SherpaEngine(own)
  const ollama = new OllamaEngine(origin, ollamaContext)
  const engines: Record<EngineName, Engine> = { llama, sherpa, ollama }
  /** Installations under way by the name of the model; an engine's, behind a space that no model's name has. */
  const installing = new Map<string, Installing>()
  void store.sweep().catch(() => {})
  void sweepRooms().catch(() => {})

  async function control(
    { action, engine, model }: Input<'engine.control'>,
    signal: AbortSignal,
  ): Promise<Output<'engine.control'>> {
    const chosen = engines[engine ?? (await usual())]
    if (action === 'start') {
      const { status } = await chosen.row()
      if (chosen !== ollama && (status === 'absent' || status === 'installing'))
        refuse('engine_not_ready', {
          message: `${chosen === llama ? 'llama.cpp' : 'sherpa-onnx'} isn’t installed on the computer yet.`,
          details: { engine: chosen.name, status },
        })
      await chosen.start(() => {}, signal)
    }
    if (action === 'stop') await chosen.stop()
    if (action === 'unload') await (model === null ? chosen : await engineOf(model)).unload(model)
    const [rows, { models }] = await Promise.all([
      Promise.all([llama, sherpa, ollama].map((each) => each.row())),
      all(),
    ])
    return {
      engine: engine ?? (await usual()),
      engines: rows,
      loaded: models.filter(({ loaded }) => loaded).map(({ name }) => name),
      gpu: await llama.gpu(),
      memory_bytes: await llama.memoryBytes(),
    }
  }

  /** Ollama where it runs, unless llama.cpp is here as well. */
  async function usual(): Promise<EngineName> {
    if ((await llama.row()).status !== 'absent') return 'llama'
    return (await ollama.row()).status === 'running' ? 'ollama' : 'llama'
  }

  async function all(): Promise<Output<'engine.models'>> {
    // An Ollama that misbehaves does not hide the models of llama.cpp.
    const [texts, speech, theirs] = await Promise.all([
      llama.models(),
      sherpa.models(),
      ollama.models().catch(() => null),
    ])
    const rows = [...texts, ...speech, ...(theirs ?? [])]
    const arriving = [...installing.keys()].filter(
      (name) => !name.startsWith(' ') && !rows.some((row) => row.name === name),
    )
    const models = [...arriving.map(arrivingRow), ...rows].slice(0, MOST_MODELS)
    return { models, silent: theirs === null ? ['ollama'] : [] }
  }

  async function engineOf(model: string): Promise<Engine> {
    const stored = await store.find(model).catch((error) => {
      if (error instanceof Refusal && error.code === 'not_found') return null
      throw error
    })
    if (stored) return engines[stored.row.engine]
    const theirs = await ollama.models().catch((error) => {
      // Only Ollama's names have a tag: of another one it would know nothing.
      if (/:[^/]+$/.test(model)) throw error
      return []
    })
    return theirs.some(({ name }) => name === model)
      ? ollama
      : refuse('not_found', { param: 'model', message: `The computer has no model ${model}.` })
  }

  async function install(
    { key, name: given, source }: Input<'engine.install'>,
    stream: Stream,
    signal: AbortSignal,
  ): Promise<Output<'engine.install'>> {
    const name = source.type === 'engine' ? ` ${source.engine}` : source.type === 'ollama' ? source.model : given
    for (let before = installing.get(name); before !== undefined; before = installing.get(name)) {
      if (before.key !== key)
        refuse('already_exists', { param: 'name', message: `${name.trim()} is already being installed.` })
      // The link broke under it and it is over in a moment: this goes on from what it left.
      await before.done.catch(() => {})
    }
    const progress = throttled((phase, completed, total) => {
      stream.event({ type: 'progress', phase, completed, total } satisfies z.input<typeof InstallProgress>)
    })
    const done = begin(key, name, source, stream, progress, signal)
    installing.set(name, { key, done })
    try {
      const row = await done
      return { digest: row?.digest ?? null, size_bytes: row?.size_bytes ?? 0 }
    } finally {
      installing.delete(name)
    }
  }

  async function begin(
    key: string,
    name: string,
    source: Input<'engine.install'>['source'],
    stream: Stream,
    progress: Progress,
    signal: AbortSignal,
  ): Promise<ModelRow | null> {
    if (source.type === 'engine') {
      await engines[source.engine].start(progress, signal)
      return null
    }
    if (source.type === 'ollama') return ollama.pull(source.model, progress, signal)
    const before = await store.broughtBy(key, name)
    if (before !== null) return { ...before.row, loaded: false }
    const part = await store.partFor(name, source.type === 'url' ? source.url : source.sha256)
    try {
      return await bring(key, name, part, source, stream, progress, signal)
    } catch (error) {
      const isDiskFull = isFull(error) || (error instanceof Refusal && error.code === 'storage_full')
      // What has come takes the room that is missing.
      if (isDiskFull) await dropPart(part)
      if (isFull(error)) await full(part, null)
      throw error
    }
  }

  /** Fetches or receives a model into `part`, and puts it in its place. */
  async function bring(
    key: string,
    name: string,
    part: string,
    source: Exclude<Input<'engine.install'>['source'], { type: 'engine' | 'ollama' }>,
    stream: Stream,
    progress: Progress,
    signal: AbortSignal,
  ): Promise<ModelRow> {
    const expected = source.sha256?.toLowerCase() ?? null
    let sha256: string
    if (source.type === 'upload') {
      await receive(stream, part, source, progress, signal)
      sha256 = await hashed(part, progress, signal)
    } else {
      progress('resolving', 0, 0)
      sha256 = await fetched(source.url, part, progress, signal)
      if (expected !== null && sha256 !== expected) {
        // A partial file that went bad poisons every further try: once more from the start.
        await dropPart(part)
        sha256 = await fetched(source.url, part, progress, signal)
      }
    }
    return added(key, name, part, sha256, expected, signal)
  }

  /** Answers the SHA-256 of the whole. A download that is cut goes on by itself as long as it gets further. */
  async function fetched(url: string, part: string, progress: Progress, signal: AbortSignal): Promise<string> {
    return throughCuts(async () => {
      const telling = (completed: number, total: number): void => progress('downloading', completed, total)
      await download({ url, part, local, progress: telling, signal })
      return hashed(part, progress, signal)
    }, signal)
  }

  async function added(
    key: string,
    name: string,
    part: string,
    sha256: string,
    expected: string | null,
    signal: AbortSignal,
  ): Promise<ModelRow> {
    if (expected !== null && sha256 !== expected) {
      await dropPart(part)
      refuse('checksum_mismatch', { param: 'source.sha256', details: { expected, found: sha256 } })
    }
    try {
      return { ...(await store.add(name, part, sha256, key, signal)).row, loaded: false }
    } catch (error) {
      // Whole and not a model: another try would find the same.
      if (error instanceof Refusal) await dropPart(part)
      throw error
    }
  }

  async function call(
    { model, path }: Input<'engine.call'>,
    stream: Stream,
    signal: AbortSignal,
  ): Promise<Output<'engine.call'>> {
    const engine = await engineOf(model)
    const parts: Buffer[] = []
    for await (const each of stream) {
      if (each.type === 'finished') break
      // The bytes of a frame are the link's again once the next one is asked for.
      if (each.type === 'bytes') parts.push(Buffer.from(each.bytes))
    }
    const body = named(Buffer.concat(parts), model)
    const answer = await engine.call({ model, path, body, signal })
    stream.event({
      type: 'head',
      status: answer.status,
      content_type: answer.type,
    } satisfies z.input<typeof CallHead>)
    for await (const bytes of answer.body) await stream.write(bytes)
    return {}
  }

  type Signal = { signal: AbortSignal }
  return {
    handlers: {
      'engine.control': (input: Input<'engine.control'>, _: Stream, { signal }: Signal) => control(input, signal),
      'engine.models': all,
      'engine.install': (input: Input<'engine.install'>, stream: Stream, { signal }: Signal) =>
        install(input, stream, signal),
      'engine.remove': async ({ name }: Input<'engine.remove'>): Promise<Output<'engine.remove'>> => {
        if (installing.has(name))
          refuse('invalid_state', {
            message: `${name} is being installed. Cancel the installation first.`,
            details: { status: 'installing', allowed: ['ready', 'broken'] },
          })
        await (await engineOf(name)).remove(name)
        return {}
      },
      'engine.call': (input: Input<'engine.call'>, stream: Stream, { signal }: Signal) => call(input, stream, signal),
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([llama, sherpa].map((each) => each[Symbol.asyncDispose]()))
    },
  }
}

/** The request with the model's name on this computer in place of whatever it came with. */
function named(body: Buffer, model: string): Buffer {
  try {
    const request: unknown = JSON.parse(body.toString())
    if (typeof request === 'object' && request !== null) return Buffer.from(JSON.stringify({ ...request, model }))
  } catch {
    // Said below.
  }
  return refuse('malformed_json')
}

function throttled(tell: Progress): Progress {
  let told = 0
  let last: string | null = null
  return (phase, completed, total) => {
    const now = Date.now()
    if (phase === last && completed < total && now - told < PROGRESS_MS) return
    told = now
    last = phase
    tell(phase, completed, total)
  }
}

async function hashed(part: string, progress: Progress, signal: AbortSignal): Promise<string> {
  const { size } = await stat(part)
  progress('verifying', size, size)
  const sha256 = await digest(part, signal)
  // Cancelled in its last moment, a model is not there after all.
  signal.throwIfAborted()
  return sha256
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
