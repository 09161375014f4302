import type { Chunk } from '../model/canonical-request.ts'

/**
 * The remainder is read and dropped, because the provider charges for it and reports usage at its end. Text that may
 * start a stop sequence is held until that is known.
 */
export async function* stopAt(
  chunks: AsyncIterable<Chunk>,
  words: readonly string[],
): AsyncGenerator<Chunk, void, undefined> {
  const finders = words.map((word) => new WordFinder(word))
  const openCalls = new Set<string>()
  let pending = ''
  let hit: string | null = null
  for await (const chunk of chunks) {
    if (hit !== null) {
      const ofCall = chunk.type === 'tool_call_delta' || chunk.type === 'tool_call_end'
      if (chunk.type === 'usage' || (ofCall && openCalls.has(chunk.id))) yield chunk
      // All wanted content has arrived: how the rest ends doesn't matter.
      else if (chunk.type === 'finish' || chunk.type === 'error')
        return yield {
          type: 'finish',
          reason: 'stop',
          native: chunk.type === 'finish' ? chunk.native : null,
          stop_sequence: hit,
        }
      continue
    }
    if (chunk.type === 'text') {
      const match = firstIn(chunk.text, finders)
      const text: string = pending + chunk.text
      const end =
        match === null
          ? text.length - Math.max(0, ...finders.map(({ matched: matchLength }) => matchLength))
          : pending.length + match.end - match.word.length
      pending = text.slice(end)
      hit = match?.word ?? null
      if (end > 0) yield { type: 'text', text: text.slice(0, end) }
      continue
    }
    if (pending !== '' && chunk.type !== 'usage') {
      yield { type: 'text', text: pending }
      pending = ''
      for (const finder of finders) finder.matched = 0
    }
    if (chunk.type === 'tool_call_start') openCalls.add(chunk.id)
    yield chunk
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
