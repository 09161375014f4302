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

/** Fits tool names and remembers which ones changed. */
export class ToolNames {
  readonly renamed = new Map<string, string>()
  readonly #longest: number
  readonly #opening: RegExp | null

  /** `opening`: what a name must begin with, where that is less than the alphabet. */
  constructor(longest: number, opening: RegExp | null = null) {
    this.#longest = longest
    this.#opening = opening
  }

  sent(name: string): string {
    const fitted = fitName(this.#opening === null || this.#opening.test(name) ? name : `_${name}`, this.#longest)
    if (fitted !== name) this.renamed.set(fitted, name)
    return fitted
  }
}

/** The chunk with the name that the client gave the tool. */
export function renameBack(chunk: Chunk, renamed: ReadonlyMap<string, string>): Chunk {
  if (chunk.type !== 'tool_call_start') return chunk
  const name = renamed.get(chunk.name)
  return name === undefined ? chunk : { ...chunk, name }
}
