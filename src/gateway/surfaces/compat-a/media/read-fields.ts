import { refuse } from '#core/errors.ts'
import type { Json } from '../../../model/json.ts'
import type { PixelSize, SoundFormat } from '../../../media/adapter.ts'

export const mediaNames: readonly string[] =
  `background file image input input_reference instructions language mask model n output_format prompt quality
  response_format seconds size speed stream stream_format timestamp_granularities voice`.split(/\s+/)

/** JSON, or the text fields of a form (a field named `x[]` is a list). */
export class Fields {
  readonly #fields: ReadonlyMap<string, readonly unknown[]>
  readonly #read = new Set<string>()

  constructor(pairs: Iterable<readonly [string, unknown]>) {
    const fields = new Map<string, unknown[]>()
    for (const [name, value] of pairs) {
      if (value === null || value === undefined) continue
      const bare = name.replace(/\[\]$/, '')
      const values = Array.isArray(value) ? (value as unknown[]) : [value]
      fields.set(bare, [...(fields.get(bare) ?? []), ...values])
    }
    this.#fields = fields
  }

  text(name: string): string | null {
    const value = this.#first(name)
    if (value === null || typeof value === 'string') return value
    return wrong(name, 'a text')
  }

  needed(name: string): string {
    const value = this.text(name)
    if (value !== null && value !== '') return value
    return refuse('missing_parameter', { param: name, message: `\`${name}\` is required.` })
  }

  number(name: string): number | null {
    const value = this.#first(name)
    if (value === null) return null
    const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
    return typeof number === 'number' && Number.isFinite(number) ? number : wrong(name, 'a number')
  }

  flag(name: string): boolean {
    const value = this.#first(name)
    if (value === null || value === false || value === 'false') return false
    return value === true || value === 'true' || wrong(name, 'true or false')
  }

  list(name: string): unknown[] {
    this.#read.add(name)
    return [...(this.#fields.get(name) ?? [])]
  }

  /** Null if unset or `auto`. */
  word<W extends string>(name: string, words: readonly W[]): W | null {
    const value = this.text(name)
    if (value === null || value === 'auto') return null
    return words.includes(value as W) ? (value as W) : wrong(name, `one of ${words.join(', ')}`)
  }

  size(name: string): PixelSize | null {
    const value = this.text(name)
    if (value === null || value === 'auto') return null
    const [, width, height] = /^(\d{1,5})x(\d{1,5})$/.exec(value) ?? wrong(name, 'a size such as 1024x1024, or auto')
    return { width: Number(width), height: Number(height) }
  }

  /** Marks fields as read that only matter to the vendor. */
  ignore(...names: string[]): void {
    for (const name of names) this.#read.add(name)
  }

  without(names: ReadonlySet<string>): Fields {
    return new Fields([...this.#fields].filter(([name]) => !names.has(name)))
  }

  unread(): string[] {
    return [...this.#fields.keys()].filter((name) => !this.#read.has(name))
  }

  rest(): Json {
    return Object.fromEntries(
      this.unread().map((name) => {
        const values = this.#fields.get(name)!
        return [name, values.length === 1 ? values[0] : [...values]]
      }),
    )
  }

  #first(name: string): unknown {
    this.#read.add(name)
    return this.#fields.get(name)?.[0] ?? null
  }
}

const wrong = (name: string, right: string): never =>
  refuse('invalid_parameter', { param: name, message: `\`${name}\` must be ${right}.` })

export const SOUND_FORMATS: readonly SoundFormat[] = ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm']
