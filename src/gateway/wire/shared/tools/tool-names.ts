import { createHash } from 'node:crypto'
import type { Chunk } from '../../../model/canonical-request.ts'

const shortHash = (words: string): string => createHash('sha256').update(words).digest('hex').slice(0, 10)

/**
 * The words in the vendor's alphabet `[a-zA-Z0-9_-]` and length. The same words always become the same, so a call
 * and its result still meet, in this request and in the next.
 */
export function fitName(words: string, longest: number): string {
  if (words.length > 0 && words.length <= longest && /^[a-zA-Z0-9_-]+$/.test(words)) return words
  return `${words.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, longest - 11)}_${shortHash(words)}`
}

/** Fits tool names, remembers which ones changed, and keeps different names different. */
export class ToolNames {
  readonly renamed = new Map<string, string>()
  readonly #sent = new Map<string, string>()
  readonly #taken = new Set<string>()
  readonly #longest: number
  readonly #opening: RegExp | null

  /**
   * Names of `tools` that are valid stay as they are, whatever others become. `opening`: what a name must begin with, where
   * that is less than the alphabet.
   */
  constructor(longest: number, tools: readonly { name: string }[] = [], opening: RegExp | null = null) {
    this.#longest = longest
    this.#opening = opening
    for (const { name } of tools) if (this.#fit(name) === name) this.sent(name)
  }

  sent(name: string): string {
    const known = this.#sent.get(name)
    if (known !== undefined) return known
    let fitted = this.#fit(name)
    // Another name became the same: its hash tells them apart.
    for (let tries = 1; this.#taken.has(fitted); tries++)
      fitted = this.#fit(`${name.slice(0, this.#longest - 11)}_${shortHash(`${name} ${tries}`)}`)
    this.#sent.set(name, fitted)
    this.#taken.add(fitted)
    if (fitted !== name) this.renamed.set(fitted, name)
    return fitted
  }

  #fit(name: string): string {
    return fitName(this.#opening === null || this.#opening.test(name) ? name : `_${name}`, this.#longest)
  }
}

/** The chunk with the name that the client gave the tool. */
export function renameBack(chunk: Chunk, renamed: ReadonlyMap<string, string>): Chunk {
  if (chunk.type !== 'tool_call_start') return chunk
  const name = renamed.get(chunk.name)
  return name === undefined ? chunk : { ...chunk, name }
}
