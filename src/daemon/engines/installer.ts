import { stat } from 'node:fs/promises'
import type { z } from 'zod'
import { Refusal, refuse } from '#core/errors.ts'
import type { Input, InstallProgress, Output } from '#daemon-protocol/operations.ts'
import type { Stream } from '#packages/mux/stream.ts'
import { isFull } from '../files/faults.ts'
import { digest, download, dropPart, full, throughCuts } from './download/download.ts'
import { receive } from './download/receive.ts'
import type { Engine, EngineName, ModelRow, Progress } from './engine.ts'
import type { OllamaEngine } from './ollama.ts'
import type { ModelStore } from './store.ts'

/** Progress is reported up to twice a second, and for each new phase and the end. */
const PROGRESS_MS = 500

interface Installation {
  key: string
  done: Promise<ModelRow | null>
}

export interface InstallerParts {
  engines: Record<EngineName, Engine> & { ollama: OllamaEngine }
  store: ModelStore
  /** `host:port` of this computer or its network that models may be downloaded from. */
  local: readonly string[]
}

/** Installs engines and models, one installation per name at a time. */
export class Installer {
  readonly #engines: InstallerParts['engines']
  readonly #store: ModelStore
  readonly #local: readonly string[]
  /** By model name, or by engine name after a space, which no model name starts with. */
  readonly #installing = new Map<string, Installation>()

  constructor({ engines, store, local }: InstallerParts) {
    this.#engines = engines
    this.#store = store
    this.#local = local
  }

  isInstalling(name: string): boolean {
    return this.#installing.has(name)
  }

  /** The names of the models that are being installed. */
  models(): string[] {
    return [...this.#installing.keys()].filter((name) => !name.startsWith(' '))
  }

  async install(
    { key, name: modelName, source }: Input<'engine.install'>,
    stream: Stream,
    signal: AbortSignal,
  ): Promise<Output<'engine.install'>> {
    const name = source.type === 'engine' ? ` ${source.engine}` : source.type === 'ollama' ? source.model : modelName
    for (let before = this.#installing.get(name); before !== undefined; before = this.#installing.get(name)) {
      if (before.key !== key)
        refuse('already_exists', { param: 'name', message: `${name.trim()} is already being installed.` })
      // Its link broke, so it ends in a moment. This one resumes its download.
      await before.done.catch(() => {})
    }
    const progress = throttled((phase, completed, total) => {
      stream.event({ type: 'progress', phase, completed, total } satisfies z.input<typeof InstallProgress>)
    })
    const done = this.#run(key, name, source, stream, progress, signal)
    this.#installing.set(name, { key, done })
    try {
      const row = await done
      return { digest: row?.digest ?? null, size_bytes: row?.size_bytes ?? 0 }
    } finally {
      this.#installing.delete(name)
    }
  }

  async #run(
    key: string,
    name: string,
    source: Input<'engine.install'>['source'],
    stream: Stream,
    progress: Progress,
    signal: AbortSignal,
  ): Promise<ModelRow | null> {
    if (source.type === 'engine') {
      await this.#engines[source.engine].start(progress, signal)
      return null
    }
    if (source.type === 'ollama') return this.#engines.ollama.pull(source.model, progress, signal)
    const existing = await this.#store.broughtBy(key, name)
    if (existing !== null) return { ...existing.row, loaded: false }
    const part = await this.#store.partFor(name, source.type === 'url' ? source.url : source.sha256)
    try {
      return await this.#obtain(key, name, part, source, stream, progress, signal)
    } catch (error) {
      const isDiskFull = isFull(error) || (error instanceof Refusal && error.code === 'storage_full')
      // The partial file takes up the missing space.
      if (isDiskFull) await dropPart(part)
      if (isFull(error)) await full(part, null)
      throw error
    }
  }

  /** Downloads or receives a model into `part`, and adds it to the store. */
  async #obtain(
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
      sha256 = await hashFile(part, progress, signal)
    } else {
      progress('resolving', 0, 0)
      sha256 = await this.#download(source.url, part, progress, signal)
      if (expected !== null && sha256 !== expected) {
        // A corrupt partial file fails every attempt that resumes it.
        await dropPart(part)
        sha256 = await this.#download(source.url, part, progress, signal)
      }
    }
    return this.#add(key, name, part, sha256, expected, signal)
  }

  /** Returns the file's SHA-256. Resumes an interrupted download as long as it makes progress. */
  async #download(url: string, part: string, progress: Progress, signal: AbortSignal): Promise<string> {
    return throughCuts(async () => {
      const report = (completed: number, total: number): void => progress('downloading', completed, total)
      await download({ url, part, local: this.#local, progress: report, signal })
      return hashFile(part, progress, signal)
    }, signal)
  }

  async #add(
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
      return { ...(await this.#store.add(name, part, sha256, key, signal)).row, loaded: false }
    } catch (error) {
      // Complete but not a model: another attempt would fail as well.
      if (error instanceof Refusal) await dropPart(part)
      throw error
    }
  }
}

function throttled(report: Progress): Progress {
  let reportedAt = 0
  let lastPhase: string | null = null
  return (phase, completed, total) => {
    const now = Date.now()
    if (phase === lastPhase && completed < total && now - reportedAt < PROGRESS_MS) return
    reportedAt = now
    lastPhase = phase
    report(phase, completed, total)
  }
}

async function hashFile(part: string, progress: Progress, signal: AbortSignal): Promise<string> {
  const { size } = await stat(part)
  progress('verifying', size, size)
  const sha256 = await digest(part, signal)
  // A model canceled at the last moment isn't added.
  signal.throwIfAborted()
  return sha256
}
