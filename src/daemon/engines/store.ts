import { createHash } from 'node:crypto'
import { mkdir, open, readFile, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { refuse } from '#core/errors.ts'
import type { ModelRow } from './engine.ts'
import { type Clock, measureUnused } from '../time/unused.ts'
import { readGguf } from './gguf.ts'
import type { SpeechModel } from './speech-model/model-files.ts'
import { isArchive, unpackSpeechModel } from './speech-model/unpack.ts'

interface Metadata {
  /** Absent: `llama`. */
  engine?: 'sherpa'
  speech?: SpeechModel
  digest: string
  size_bytes: number
  context_length: number | null
  quantization: string | null
  embeds?: boolean
  key?: string
}

type StoredEngine = Exclude<ModelRow['engine'], 'ollama'>
const ENDS: Readonly<Record<StoredEngine, string>> = { llama: '.gguf', sherpa: '.speech' }

const KEEP_PARTS_MS = 7 * 86_400_000

/** `path`: a file for llama.cpp, a folder for sherpa-onnx. */
export interface StoredModel {
  row: Omit<ModelRow, 'loaded'>
  path: string
  speech: SpeechModel | null
}

/**
 * Models in one folder: `NAME.gguf` for llama.cpp or the folder `NAME.speech` for sherpa-onnx, each with
 * `NAME.json`, and `NAME.HASH.part` during a download.
 */
export class ModelStore {
  readonly folder: string

  constructor(folder: string) {
    this.folder = folder
  }

  /** Returns the partial file for a model and source. Another source under the same name starts over. */
  async partFor(name: string, source: string): Promise<string> {
    checkName(name)
    await mkdir(this.folder, { recursive: true, mode: 0o700 })
    const mark = createHash('sha256').update(source).digest('hex').slice(0, 12)
    return join(this.folder, `${name}.${mark}.part`)
  }

  /** Stores a complete download after its header was validated. Archives are unpacked. */
  async add(name: string, part: string, sha256: string, key: string, signal: AbortSignal): Promise<StoredModel> {
    checkName(name)
    const { size } = await stat(part)
    const received = { digest: `sha256:${sha256}`, size_bytes: size, key }
    if (await isArchive(part)) await this.#addSpeech(name, part, received, signal)
    else await this.#addFile(name, part, received)
    await rm(`${part}.json`, { force: true })
    await using folder = await open(this.folder, 'r')
    await folder.sync()
    return this.find(name)
  }

  async #addFile(name: string, part: string, received: Pick<Metadata, 'digest' | 'size_bytes' | 'key'>): Promise<void> {
    const head = await readGguf(part)
    await this.#writeMetadata(name, {
      ...received,
      context_length: head.context_length,
      quantization: head.quantization,
      embeds: /bert|embed/i.test(`${head.architecture} ${head.name ?? name}`),
    })
    await rename(part, this.#path(name, 'llama'))
  }

  async #addSpeech(
    name: string,
    part: string,
    received: Pick<Metadata, 'digest' | 'size_bytes' | 'key'>,
    signal: AbortSignal,
  ): Promise<void> {
    const place = this.#path(name, 'sherpa')
    const partial = `${place}.part`
    await rm(partial, { recursive: true, force: true })
    try {
      const { speech, bytes } = await unpackSpeechModel(part, partial, signal)
      const quantization = /int8/.test(Object.values(speech.files).join(' ')) ? 'INT8' : null
      await this.#writeMetadata(name, {
        ...received,
        size_bytes: bytes,
        engine: 'sherpa',
        speech,
        context_length: null,
        quantization,
      })
      await rm(place, { recursive: true, force: true })
      await rename(partial, place)
    } finally {
      await rm(partial, { recursive: true, force: true })
    }
    await rm(part, { force: true })
  }

  async #writeMetadata(name: string, metadata: Metadata): Promise<void> {
    await writeFile(join(this.folder, `${name}.json`), JSON.stringify(metadata))
  }

  async list(engine: StoredEngine): Promise<StoredModel[]> {
    const files = await readdir(this.folder).catch(() => [])
    const end = ENDS[engine]
    const names = files.filter((file) => file.endsWith(end)).map((file) => file.slice(0, -end.length))
    // A file may be removed meanwhile or not be ours.
    const models = await Promise.all(names.map((name) => this.find(name).catch(() => null)))
    return models.filter((one) => one !== null).filter(({ row }) => row.engine === engine)
  }

  /** Returns the model an installation stored, or null. Throws `already_exists` if another model has the name. */
  async broughtBy(key: string, name: string): Promise<StoredModel | null> {
    checkName(name)
    const metadata = await this.#readMetadata(name)
    const model = metadata && (await this.find(name).catch(() => null))
    if (model?.row.status !== 'ready') return null
    if (metadata!.key === key) return model
    return refuse('already_exists', { param: 'name', message: `The computer already has a model named ${name}.` })
  }

  async sweep(clock?: Clock): Promise<void> {
    const parts = new Map<string, string>()
    const files = new Set(await readdir(this.folder).catch(() => []))
    for (const file of files) {
      if (!isPart(file, files)) continue
      const stats = await stat(join(this.folder, file)).catch(() => null)
      if (stats !== null) parts.set(file, `${stats.size} ${stats.mtimeMs}`)
    }
    if (parts.size === 0) return
    for (const [file, ms] of await measureUnused(join(this.folder, 'left'), parts, clock))
      if (ms > KEEP_PARTS_MS) await rm(join(this.folder, file), { recursive: true, force: true })
  }

  async find(name: string): Promise<StoredModel> {
    const metadata = isName(name) ? await this.#readMetadata(name) : null
    const engine = metadata?.engine ?? 'llama'
    const stats = isName(name) ? await stat(this.#path(name, engine)).catch(() => null) : null
    if (!stats) return refuse('not_found', { param: 'model', message: `The computer has no model ${name}.` })
    return {
      row: {
        name,
        engine,
        size_bytes: metadata?.size_bytes ?? 0,
        digest: metadata?.digest ?? null,
        context_length: metadata?.context_length ?? null,
        quantization: metadata?.quantization ?? null,
        // Folders are moved into place complete, so their size isn't checked.
        status: stats.isDirectory() || metadata?.size_bytes === stats.size ? 'ready' : 'broken',
        embeds: metadata?.embeds ?? false,
      },
      path: this.#path(name, engine),
      speech: metadata?.speech ?? null,
    }
  }

  async remove(name: string): Promise<void> {
    const { path } = await this.find(name)
    const both = [path, join(this.folder, `${name}.json`)]
    await Promise.all(both.map((each) => rm(each, { recursive: true, force: true })))
  }

  async #readMetadata(name: string): Promise<Metadata | null> {
    try {
      return JSON.parse(await readFile(join(this.folder, `${name}.json`), 'utf8')) as Metadata
    } catch {
      return null
    }
  }

  #path(name: string, engine: StoredEngine): string {
    return join(this.folder, name + ENDS[engine])
  }
}

/** Whether an installation left this file. A model may also be called `x.part`, with `x.part.json`. */
function isPart(file: string, files: ReadonlySet<string>): boolean {
  if (!/\.[0-9a-f]{12}\.part(\.json)?$|\.speech\.part$/.test(file)) return false
  const model = file.endsWith('.json') ? file.slice(0, -'.json'.length) : null
  return model === null || !Object.values(ENDS).some((end) => files.has(`${model}${end}`))
}

const isName = (name: string): boolean => /^[a-zA-Z0-9][a-zA-Z0-9._:-]{0,99}$/.test(name)

function checkName(name: string): void {
  if (!isName(name))
    refuse('invalid_parameter', {
      param: 'name',
      message:
        'A name must start with a letter or digit and can have up to 100 letters, digits, `.`, `_`, `:` and `-`.',
    })
}
