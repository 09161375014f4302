import type { Chunk } from '../model/canonical-request.ts'
import type { ChunkStep } from './chunk-step.ts'

/**
 * Ends an answer before its first stop sequence. The remainder is read and dropped, because the provider charges for it
 * and reports usage at its end. Text that may start a stop sequence is held until that is known.
 */
export class StopSequences implements ChunkStep {
  readonly #finders: readonly WordFinder[]
  readonly #openCalls = new Set<string>()
  #pending = ''
  #hit: string | null = null
  #isOver = false

  constructor(words: readonly string[]) {
    this.#finders = words.map((word) => new WordFinder(word))
  }

  push(chunk: Chunk, next: (chunk: Chunk) => void): void {
    if (this.#isOver) return
    if (this.#hit !== null) this.#pushAfter(this.#hit, chunk, next)
    else if (chunk.type === 'text') this.#pushText(chunk.text, next)
    else {
      if (this.#pending !== '' && chunk.type !== 'usage') {
        next({ type: 'text', text: this.#pending })
        this.#pending = ''
        for (const finder of this.#finders) finder.matched = 0
      }
      if (chunk.type === 'tool_call_start') this.#openCalls.add(chunk.id)
      next(chunk)
    }
  }

  #pushText(added: string, next: (chunk: Chunk) => void): void {
    const match = firstIn(added, this.#finders)
    const text = this.#pending + added
    const end =
      match === null
        ? text.length - Math.max(0, ...this.#finders.map(({ matched: matchLength }) => matchLength))
        : this.#pending.length + match.end - match.word.length
    this.#pending = text.slice(end)
    this.#hit = match?.word ?? null
    if (end > 0) next({ type: 'text', text: text.slice(0, end) })
  }

  #pushAfter(hit: string, chunk: Chunk, next: (chunk: Chunk) => void): void {
    const ofCall = chunk.type === 'tool_call_delta' || chunk.type === 'tool_call_end'
    if (chunk.type === 'usage' || (ofCall && this.#openCalls.has(chunk.id))) return next(chunk)
    if (chunk.type !== 'finish' && chunk.type !== 'error') return
    // All wanted content has arrived: how the rest ends doesn't matter.
    this.#isOver = true
    const native = chunk.type === 'finish' ? chunk.native : null
    next({ type: 'finish', reason: 'stop', native, stop_sequence: hit })
  }
}

/**
 * Knuth, Morris, and Pratt, reading each character once: rescanning held text would be quadratic in the word's length.
 */
class WordFinder {
  readonly word: string
  /** For each prefix of the word, the length of its longest proper border. */
  readonly #fallbacks: Int32Array
  matched = 0

  constructor(word: string) {
    this.word = word
    this.#fallbacks = new Int32Array(word.length)
    for (let at = 1, length = 0; at < word.length; at++) {
      length = this.#grown(length, word.charCodeAt(at))
      this.#fallbacks[at] = length
    }
  }

  read(code: number): boolean {
    this.matched = this.#grown(this.matched, code)
    return this.matched === this.word.length
  }

  #grown(matchLength: number, code: number): number {
    while (matchLength > 0 && this.word.charCodeAt(matchLength) !== code)
      matchLength = this.#fallbacks[matchLength - 1]!
    return this.word.charCodeAt(matchLength) === code ? matchLength + 1 : 0
  }
}

/** Prefers the longest of the words that end first, as a model would. */
function firstIn(text: string, finders: readonly WordFinder[]): { end: number; word: string } | null {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    let longest: string | null = null
    for (const finder of finders)
      if (finder.read(code) && finder.word.length > (longest?.length ?? 0)) longest = finder.word
    if (longest !== null) return { end: at + 1, word: longest }
  }
  return null
}
