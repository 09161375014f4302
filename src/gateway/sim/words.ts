import type { CanonicalMessage, CanonicalPart } from '../model/canonical-request.ts'

/** The text in pieces of one word each, white space before it included; joined they are the text. */
export function pieces(text: string): string[] {
  const found = text.match(/\s*\S+/g)
  if (!found) return text === '' ? [] : [text]
  const length = found.reduce((sum, piece) => sum + piece.length, 0)
  found[found.length - 1] += text.slice(length)
  return found
}

/** The number of whitespace-separated words: the simulated models' tokens. */
export function countWords(text: string): number {
  let words = 0
  for (const _ of text.matchAll(/\S+/g)) words++
  return words
}

/** Words of everything in the messages that is text: media count nothing. */
export const countInput = (messages: CanonicalMessage[]): number =>
  messages.reduce((sum, { content }) => sum + content.reduce((inner, part) => inner + wordsOf(part), 0), 0)

function wordsOf(part: CanonicalPart): number {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return countWords(part.text)
    case 'tool_call':
      return countWords(part.arguments)
    case 'tool_result':
      return part.content.reduce((sum, inner) => sum + wordsOf(inner), 0)
    case 'image':
    case 'file':
      return 0
  }
}
