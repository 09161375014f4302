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
      const text: string = held + chunk.text
      const found = firstOf(text, words)
      const end = found === null ? text.length - beginningAtEnd(text, words) : found.at
      held = text.slice(end)
      hit = found?.word ?? null
      if (end > 0) yield { type: 'text', text: text.slice(0, end) }
      continue
    }
    if (held !== '' && chunk.type !== 'usage') {
      yield { type: 'text', text: held }
      held = ''
    }
    if (chunk.type === 'tool_call_start') called.add(chunk.id)
    yield chunk
  }
}

/** The word that is complete first, as a model stops: of those, the longest. */
function firstOf(text: string, words: readonly string[]): { at: number; word: string } | null {
  let first: { at: number; word: string } | null = null
  for (const word of words) {
    const at = text.indexOf(word)
    if (at < 0) continue
    const later = first === null ? -1 : at + word.length - (first.at + first.word.length)
    if (later < 0 || (later === 0 && at < first!.at)) first = { at, word }
  }
  return first
}

/** The number of characters at the end that may begin a word. */
function beginningAtEnd(text: string, words: readonly string[]): number {
  let longest = 0
  for (const word of words)
    for (let length = Math.min(word.length - 1, text.length); length > longest; length--)
      if (text.endsWith(word.slice(0, length))) longest = length
  return longest
}
