import { createHash } from 'node:crypto'
import { mkdir, open, readFile, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { refuse } from '#kernel/errors.ts'
import type { ModelRow } from '../engine.ts'
import { leftFor } from '../../time/unused.ts'
import { readGguf } from '../gguf.ts'

/** What is kept beside a model's file. */
interface Kept {
  digest: string
  size_bytes: number
  context_length: number | null
  quantization: string | null
  embeds?: boolean
  /** Of the installation that brought it. */
  key?: string
}

/** A broken-off download is gone on with for so long. */
const KEEP_PARTS_MS = 7 * 86_400_000

export type StoredModel = Omit<ModelRow, 'loaded'> & { path: string }

/** The models of llama.cpp on this computer: `NAME.gguf` and `NAME.json` in one folder, `NAME.HASH.part` while one arrives. */
export class ModelStore {
  readonly folder: string

  constructor(folder: string) {
    this.folder = folder
  }

  /** Where the bytes of a model grow, by what is asked for: another source under the same name begins anew. */
  async partFor(name: string, source: string): Promise<string> {
    checkName(name)
    await mkdir(this.folder, { recursive: true, mode: 0o700 })
    const mark = createHash('sha256').update(source).digest('hex').slice(0, 12)
    return join(this.folder, `${name}.${mark}.part`)
  }

  /** Puts a whole file in its place, once its head says that it is a model. */
  async add(name: string, part: string, sha256: string, key: string): Promise<StoredModel> {
    checkName(name)
    const head = await readGguf(part)
    const { size } = await stat(part)
    const kept: Kept = {
      digest: `sha256:${sha256}`,
      size_bytes: size,
      context_length: head.context_length,
      quantization: head.quantization,
      embeds: /bert|embed/i.test(`${head.architecture} ${head.name ?? name}`),
      key,
    }
    await writeFile(join(this.folder, `${name}.json`), JSON.stringify(kept))
    await rename(part, this.#path(name))
    await rm(`${part}.json`, { force: true })
    await using folder = await open(this.folder, 'r')
    await folder.sync()
    return this.find(name)
  }

  async list(): Promise<StoredModel[]> {
    const files = await readdir(this.folder).catch(() => [])
    const names = files.filter((file) => file.endsWith('.gguf')).map((file) => file.slice(0, -'.gguf'.length))
    // One may be removed meanwhile, or be somebody else's file.
    const found = await Promise.all(names.map((name) => this.find(name).catch(() => null)))
    return found.filter((row) => row !== null)
  }

  /** The model that an installation has brought, or null. Refuses with `already_exists` where another one of that name is here. */
  async broughtBy(key: string, name: string): Promise<StoredModel | null> {
    checkName(name)
    const kept = await this.#kept(name)
    const there = kept && (await this.find(name).catch(() => null))
    if (there?.status !== 'ready') return null
    if (kept!.key === key) return there
    return refuse('already_exists', { param: 'name', message: `The computer has a model ${name} already.` })
  }

  /** Removes what installations left that nobody went on with. */
  async sweep(): Promise<void> {
    const parts = new Map<string, string>()
    for (const file of await readdir(this.folder).catch(() => [])) {
      if (!/\.part(\.json)?$/.test(file)) continue
      const left = await stat(join(this.folder, file)).catch(() => null)
      if (left !== null) parts.set(file, `${left.size} ${left.mtimeMs}`)
    }
    if (parts.size === 0) return
    for (const [file, ms] of await leftFor(join(this.folder, 'left'), parts))
      if (ms > KEEP_PARTS_MS) await rm(join(this.folder, file), { force: true })
  }

  async find(name: string): Promise<StoredModel> {
    const there = isName(name) ? await stat(this.#path(name)).catch(() => null) : null
    if (!there) return refuse('not_found', { param: 'model', message: `The computer has no model ${name}.` })
    const kept = await this.#kept(name)
    return this.#row(name, kept, kept?.size_bytes === there.size ? 'ready' : 'broken')
  }

  async remove(name: string): Promise<void> {
    await this.find(name)
    await Promise.all([rm(this.#path(name), { force: true }), rm(join(this.folder, `${name}.json`), { force: true })])
  }

  async #kept(name: string): Promise<Kept | null> {
    try {
      return JSON.parse(await readFile(join(this.folder, `${name}.json`), 'utf8')) as Kept
    } catch {
      return null
    }
  }

  #row(name: string, kept: Kept | null, status: ModelRow['status']): StoredModel {
    return {
      name,
      engine: 'llama',
      size_bytes: kept?.size_bytes ?? 0,
      digest: kept?.digest ?? null,
      context_length: kept?.context_length ?? null,
      quantization: kept?.quantization ?? null,
      status,
      embeds: kept?.embeds ?? false,
      path: this.#path(name),
    }
  }

  #path(name: string): string {
    return join(this.folder, `${name}.gguf`)
  }
}

const isName = (name: string): boolean => /^[a-zA-Z0-9][a-zA-Z0-9._:-]{0,99}$/.test(name)

function checkName(name: string): void {
  if (!isName(name))
    refuse('invalid_parameter', {
      param: 'name',
      message: 'A name begins with a letter or digit and has up to 100 letters, digits, `.`, `_`, `:` and `-`.',
    })
}
