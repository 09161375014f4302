import { availableParallelism, freemem, totalmem } from 'node:os'
import { stat } from 'node:fs/promises'
import type { Binding, EmbeddingContext, Llama, Model, Sequence } from './binding.ts'

/** Concurrent conversations per model; others wait. */
const SEQUENCES = 2
const IDLE_MS = 5 * 60_000

/**
 * One thread fewer than cores, since with as many, threads spin: two threads on two busy cores were 700 times
 * slower.
 */
export const threads = Math.max(1, availableParallelism() - 1)

interface Loaded {
  model: Model
  size: number
  usedAt: number
  users: number
  /** Context of one conversation, as far as memory allowed. Null: none yet. */
  context: number | null
  ready: Promise<void> | null
  free: Sequence[]
  waiting: ((sequence: Sequence) => void)[]
  embedding: Promise<EmbeddingContext> | null
}

export class LoadedModels {
  readonly binding: Binding
  readonly llama: Llama
  /** Token limit of one conversation. Its memory is allocated when the model loads. */
  readonly #context: number
  readonly #models = new Map<string, Promise<Loaded>>()
  readonly #ready = new Map<string, Loaded>()

  constructor(binding: Binding, llama: Llama, context: number) {
    this.binding = binding
    this.llama = llama
    this.#context = context
    setInterval(() => void this.#unloadIdle(), 30_000).unref()
  }

  list(): { path: string; context: number | null }[] {
    return [...this.#models.keys()].map((path) => ({ path, context: this.#ready.get(path)?.context ?? null }))
  }

  async withSequence<T>(
    path: string,
    signal: AbortSignal,
    use: (model: Model, sequence: Sequence) => Promise<T>,
  ): Promise<T> {
    return this.#use(path, async (loaded) => {
      await (loaded.ready ??= makeSequences(loaded, this.#context))
      const sequence = loaded.free.pop() ?? (await new Promise<Sequence>((resolve) => loaded.waiting.push(resolve)))
      try {
        signal.throwIfAborted()
        return await use(loaded.model, sequence)
      } finally {
        give(loaded, sequence)
      }
    })
  }

  withEmbedding<T>(path: string, use: (model: Model, context: EmbeddingContext) => Promise<T>): Promise<T> {
    return this.#use(path, async (loaded) => {
      loaded.embedding ??= loaded.model.createEmbeddingContext({
        contextSize: { max: Math.min(this.#context, loaded.model.trainContextSize) },
        threads,
      })
      return use(loaded.model, await loaded.embedding)
    })
  }

  /** Aborts running requests too, to free the memory. */
  async unload(path: string): Promise<void> {
    const loaded = await this.#models.get(path)?.catch(() => null)
    this.#models.delete(path)
    this.#ready.delete(path)
    await loaded?.model.dispose()
  }

  async #use<T>(path: string, use: (loaded: Loaded) => Promise<T>): Promise<T> {
    const loading = this.#models.get(path) ?? this.#load(path)
    const loaded = await loading
    loaded.users++
    try {
      return await use(loaded)
    } finally {
      loaded.users--
      loaded.usedAt = performance.now()
    }
  }

  #load(path: string): Promise<Loaded> {
    const loading = (async (): Promise<Loaded> => {
      const { size } = await stat(path)
      await this.#makeRoom(size)
      const model = await this.llama.loadModel({ modelPath: path })
      return {
        model,
        size,
        usedAt: performance.now(),
        users: 0,
        context: null,
        ready: null,
        free: [],
        waiting: [],
        embedding: null,
      }
    })()
    this.#models.set(path, loading)
    loading.then(
      (loaded) => this.#ready.set(path, loaded),
      () => this.#models.delete(path),
    )
    return loading
  }

  /** Unloads the least recently used models until the new one fits. */
  async #makeRoom(size: number): Promise<void> {
    const idle = [...this.#ready].filter(([, { users }]) => users === 0).toSorted(([, a], [, b]) => a.usedAt - b.usedAt)
    let room = Math.min(freemem(), totalmem() * 0.6)
    for (const [path, loaded] of idle) {
      if (room >= size * 1.2) return
      await this.unload(path)
      room += loaded.size
    }
  }

  async #unloadIdle(): Promise<void> {
    for (const [path, loaded] of this.#ready)
      if (loaded.users === 0 && performance.now() - loaded.usedAt > IDLE_MS) await this.unload(path)
  }
}

async function makeSequences(loaded: Loaded, most: number): Promise<void> {
  try {
    const max = Math.min(most, loaded.model.trainContextSize)
    const context = await loaded.model.createContext({ sequences: SEQUENCES, contextSize: { max }, threads })
    const sequences = Array.from({ length: SEQUENCES }, () => context.getSequence())
    loaded.context = sequences[0]!.contextSize
    for (const sequence of sequences) give(loaded, sequence)
  } catch (error) {
    // The next call retries, when there may be enough memory.
    loaded.ready = null
    throw error
  }
}

function give(loaded: Loaded, sequence: Sequence): void {
  const next = loaded.waiting.shift()
  if (next) next(sequence)
  else loaded.free.push(sequence)
}
