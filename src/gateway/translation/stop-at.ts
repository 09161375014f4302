import type { Chunk } from '../model/canonical-request.ts'

/**
 * An answer that ends before the first of these words, as from a provider that heeds stop sequences. What comes behind it
 * is read and dropped: the provider charges for it, and says at its end how much. Text that may be the beginning of a
 * word waits until it is known.
 */
export async function* stopAt(
  chunks: AsyncIterable<Chunk>,
  words: readonly string[],
): AsyncGenerator<Chunk, void, undefined> {
  const finders = words.map((word) => new WordFinder(word))
  const called = new Set<string>()
  let held = ''
  let hit: string | null = null
  for await (const chunk of chunks) {
    if (hit !== null) {
      const ofCall = chunk.type === 'tool_call_delta' || chunk.type === 'tool_call_end'
      if (chunk.type === 'usage' || (ofCall && called.has(chunk.id))) yield chunk
      // All that was wanted has come: how the rest ends does not matter.
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
      const text: string = held + chunk.text
      const end =
        match === null
          ? text.length - Math.max(0, ...finders.map(({ matched }) => matched))
          : held.length + match.end - match.word.length
      held = text.slice(end)
      hit = match?.word ?? null
      if (end > 0) yield { type: 'text', text: text.slice(0, end) }
      continue
    }
    if (held !== '' && chunk.type !== 'usage') {
      yield { type: 'text', text: held }
      held = ''
      for (const finder of finders) finder.matched = 0
    }
    if (chunk.type === 'tool_call_start') called.add(chunk.id)
    yield chunk
  }
}

/**
 * Finds a word in text that comes in pieces, reading every character once (Knuth, Morris and Pratt): looking again at
 * what was held costs the square of the word's length.
 */
class WordFinder {
  readonly word: string
  /** For each beginning of the word, the length of the longest shorter one that it ends with. */
  readonly #fallbacks: Int32Array
  /** Characters of the word that the text so far ends with. */
  matched = 0

  constructor(word: string) {
    this.word = word
    this.#fallbacks = new Int32Array(word.length)
    for (let at = 1, length = 0; at < word.length; at++) {
      length = this.#grown(length, word.charCodeAt(at))
      this.#fallbacks[at] = length
    }
  }

  /** Reads one character. Whether the word is complete. */
  read(code: number): boolean {
    this.matched = this.#grown(this.matched, code)
    return this.matched === this.word.length
  }

  #grown(matched: number, code: number): number {
    while (matched > 0 && this.word.charCodeAt(matched) !== code) matched = this.#fallbacks[matched - 1]!
    return this.word.charCodeAt(matched) === code ? matched + 1 : 0
  }
}

/** Reads text up to the end of the word that is complete first, as a model stops: of those, the longest. */
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
