/** The words of what was recognized, from its tokens: pure. */
import type { Recognized } from './binding.ts'

export interface Word {
  word: string
  /** Seconds from the beginning of the sound. */
  start: number
  end: number
}

/** Null: the model tells no times. `seconds`: how long the sound is. */
export function wordsOf({ tokens, timestamps }: Recognized, seconds: number): Word[] | null {
  if (timestamps.length === 0 || timestamps.length !== tokens.length) return null
  const words: Word[] = []
  for (const [i, token] of tokens.entries()) {
    const start = timestamps[i]!
    // SentencePiece marks where a word begins; scripts without spaces have a token for each sign.
    const begins = /^[\s▁]/.test(token) || /^\p{Script=Han}/u.test(token) || words.length === 0
    const text = token.replaceAll('▁', ' ').trim()
    const last = words.at(-1)
    if (!begins && last !== undefined) {
      last.word += text
      continue
    }
    if (last !== undefined) last.end = start
    words.push({ word: text, start, end: seconds })
  }
  return words.filter(({ word }) => word !== '')
}
