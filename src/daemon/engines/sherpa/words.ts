import type { Recognized } from './binding.ts'

export interface Word {
  word: string
  start: number
  end: number
}

/** Null if the model reports no times. `seconds`: the recording's length. */
export function wordsOf({ tokens, timestamps }: Recognized, seconds: number): Word[] | null {
  if (timestamps.length === 0 || timestamps.length !== tokens.length) return null
  const words: Word[] = []
  for (const [i, token] of tokens.entries()) {
    const start = timestamps[i]!
    // SentencePiece marks the start of a word; scripts without spaces have one token per character.
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
