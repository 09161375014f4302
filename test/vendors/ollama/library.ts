// The models on an Ollama's disk and in its memory, and the registry it pulls from.
import { createHash } from 'node:crypto'
import type { Flow, Frame, Whole } from '../delivery/deliver.ts'
import type { Json } from '../vendor.ts'
import { type OllamaModel, detailsOf, digestOf, sizeOf } from './models.ts'

/** A model of the registry: the sizes of its layers in bytes. */
export type RegistryModel = OllamaModel & { layers?: number[] }

const installedModels: OllamaModel[] = [
  { name: 'llama3.2:latest', capabilities: ['completion', 'tools'], family: 'llama', parameters: '3.2B' },
  { name: 'qwen3:4b', capabilities: ['completion', 'tools', 'thinking'], family: 'qwen3', parameters: '4.0B' },
  { name: 'all-minilm:latest', capabilities: ['embedding'], family: 'bert', parameters: '23M', quantization: 'F16' },
]
const registryModels: RegistryModel[] = [
  { name: 'smollm:135m', capabilities: ['completion'], parameters: '135M', context: 2_048 },
  { name: 'nomic-embed-text:latest', capabilities: ['embedding'], family: 'nomic-bert', quantization: 'F16' },
]
const LAYERS = [90_000_000, 11_000, 400]
/** Progress lines per layer. */
const STEPS = 20
const DEFAULT_CONTEXT = 4_096
const FIVE_MINUTES = 300

const withTag = (name: string): string => (/:[^/]+$/.test(name) ? name : `${name}:latest`)

/** Seconds: a number, or a duration in Go's format; below 0: forever. */
export function lifetime(keepAlive: unknown): number {
  if (typeof keepAlive === 'number') return keepAlive < 0 ? Infinity : keepAlive
  const [, amount, unit] = /^(-?[\d.]+)(ms|s|m|h)?$/.exec(String(keepAlive ?? `${FIVE_MINUTES}s`)) ?? []
  const seconds =
    Number(amount ?? FIVE_MINUTES) * { ms: 0.001, s: 1, m: 60, h: 3_600 }[(unit as 's' | undefined) ?? 's']
  return seconds < 0 ? Infinity : seconds
}

export class Library {
  installed: OllamaModel[]
  readonly #registry: RegistryModel[]
  readonly #loaded = new Map<string, { context: number; until: number }>()
  /** Bytes of layers on the disk, complete or not. */
  readonly #bytes = new Map<string, number>()

  constructor(installed = installedModels, registry = registryModels) {
    this.installed = [...installed]
    this.#registry = registry
  }

  /** A name without a tag means `:latest`. */
  find(name: string): OllamaModel | undefined {
    return this.installed.find((one) => one.name === withTag(name))
  }

  remove(name: string): boolean {
    const model = this.find(name)
    this.installed = this.installed.filter((one) => one !== model)
    this.#loaded.delete(withTag(name))
    return model !== undefined
  }

  /** Loads the model into memory for its lifetime. */
  use(model: OllamaModel, keepAlive: unknown, numCtx?: number): void {
    const seconds = lifetime(keepAlive)
    if (seconds === 0) return void this.#loaded.delete(model.name)
    const until = Number.isFinite(seconds) ? Date.now() + seconds * 1_000 : Date.parse('2318-01-01T00:00:00Z')
    this.#loaded.set(model.name, { context: contextFor(model, numCtx), until })
  }

  contextOf(model: OllamaModel): number {
    return this.#loaded.get(model.name)?.context ?? contextFor(model)
  }

  running(): Json[] {
    return this.installed.flatMap((model) => {
      const entry = this.#loaded.get(model.name)
      if (!entry) return []
      const { context, until } = entry
      const size = { size: sizeOf(model), size_vram: 0, context_length: context }
      const expires_at = new Date(until).toISOString()
      return {
        name: model.name,
        model: model.name,
        digest: digestOf(model),
        details: detailsOf(model),
        expires_at,
        ...size,
      }
    })
  }

  pullWhole(name: string): Whole {
    const model = this.#published(name)
    if (!model) return { status: 500, body: { error: missing } }
    this.#add(model)
    return { status: 200, body: { status: 'success' } }
  }

  /** Layer by layer, continuing an earlier pull; the second to last line puts the model on the list. */
  pull(name: string): Flow {
    const model = this.#published(name)
    const lines: { data: Json; told?: () => void }[] = [{ data: { status: 'pulling manifest' } }]
    if (!model) lines.push({ data: { error: missing } })
    else {
      for (const layer of layersOf(model)) lines.push(...this.#fetch(layer))
      lines.push({ data: { status: 'verifying sha256 digest' } }, { data: { status: 'writing manifest' } })
      lines.push({ data: { status: 'success' }, told: () => this.#add(model) })
    }
    return {
      format: 'ndjson',
      frames: lines.map(({ data }): Frame => ({ data })),
      opening: 1,
      closing: model ? 3 : 1,
      failure: ({ message }) => [{ data: { error: message ?? 'max retries exceeded: unexpected EOF' } }],
      sent: (frame) => lines[frame]?.told?.(),
    }
  }

  #fetch({ digest, total }: Layer): { data: Json; told?: () => void }[] {
    const status = `pulling ${digest.slice(7, 19)}`
    const had = this.#bytes.get(digest) ?? 0
    const line = (completedBytes: number): { data: Json; told: () => void } => ({
      data: { status, digest, total, ...(completedBytes > 0 && { completed: completedBytes }) },
      told: () => this.#bytes.set(digest, completedBytes),
    })
    if (had === total) return [line(total)]
    const step = Math.ceil(total / STEPS)
    const places = Array.from({ length: Math.ceil((total - had) / step) }, (_, n) =>
      Math.min(total, had + (n + 1) * step),
    )
    return [had, ...places].map(line)
  }

  #published(name: string): RegistryModel | undefined {
    return this.#registry.find((one) => one.name === withTag(name))
  }

  #add(model: RegistryModel): void {
    const size = layersOf(model).reduce((sum, { total }) => sum + total, 0)
    this.installed = [{ size, ...model }, ...this.installed.filter(({ name }) => name !== model.name)]
  }
}

const missing = 'pull model manifest: file does not exist'

type Layer = { digest: string; total: number }

function layersOf({ name, layers = LAYERS }: RegistryModel): Layer[] {
  return layers.map((total, n) => ({
    digest: `sha256:${createHash('sha256').update(`${name} ${n}`).digest('hex')}`,
    total,
  }))
}

/** Limited by the context that the model was trained with. */
function contextFor(model: OllamaModel, numCtx?: number): number {
  return Math.min(numCtx ?? model.numCtx ?? DEFAULT_CONTEXT, model.context ?? Infinity)
}
