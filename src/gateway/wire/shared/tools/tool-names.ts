import { createHash } from 'node:crypto'
import type { Chunk } from '../../../model/canonical-request.ts'

const shortHash = (words: string): string => createHash('sha256').update(words).digest('hex').slice(0, 10)

/** Deterministic, so a call and its result still match, in this request and later ones. */
export function fitName(words: string, longest: number): string {
  if (words.length > 0 && words.length <= longest && /^[a-zA-Z0-9_-]+$/.test(words)) return words
  return `${words.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, longest - 11)}_${shortHash(words)}`
}

export class ToolNames {
  readonly renamed = new Map<string, string>()
  readonly #sent = new Map<string, string>()
  readonly #taken = new Set<string>()
  readonly #longest: number
  readonly #opening: RegExp | null

  /** Valid names of `tools` never change. `opening` restricts the first character. */
  constructor(longest: number, tools: readonly { name: string }[] = [], opening: RegExp | null = null) {
    this.#longest = longest
    this.#opening = opening
    for (const { name } of tools) if (this.#fit(name) === name) this.sent(name)
  }

  sent(name: string): string {
    const existing = this.#sent.get(name)
    if (existing !== undefined) return existing
    let fit = this.#fit(name)
    // Another name was reduced to the same text: a hash tells them apart.
    for (let tries = 1; this.#taken.has(fit); tries++)
      fit = this.#fit(`${name.slice(0, this.#longest - 11)}_${shortHash(`${name} ${tries}`)}`)
    this.#sent.set(name, fit)
    this.#taken.add(fit)
    if (fit !== name) this.renamed.set(fit, name)
    return fit
  }

  #fit(name: string): string {
    return fitName(this.#opening === null || this.#opening.test(name) ? name : `_${name}`, this.#longest)
  }
}

export function renameBack(chunk: Chunk, originals: ReadonlyMap<string, string>): Chunk {
  if (chunk.type !== 'tool_call_start') return chunk
  const name = originals.get(chunk.name)
  return name === undefined ? chunk : { ...chunk, name }
}
