/**
 * Emphasis in languages that don't put spaces around words. CommonMark lets `**` open or close emphasis by the spaces
 * and punctuation beside it, which fails in `これは**『速報』**です` and `**提示：**请保存`. Here punctuation outside ASCII counts
 * as a letter of a word does, and so does ASCII punctuation beside a letter of such a language.
 */

const SPACE = /\s/u
const ASCII = /^\p{ASCII}$/u
const PUNCTUATION = /[\p{P}\p{S}]/u
const DIGIT = /\p{Nd}/u
const LETTER = /[\p{L}\p{M}\p{N}]/u
/** The scripts that are written without spaces between words, or, like Hangul, attach endings to them. */
const UNSPACED =
  /[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Bopo}\p{scx=Hang}\p{scx=Yiii}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}\p{scx=Tibt}\p{scx=Java}\p{scx=Bali}\p{scx=Lana}\p{scx=Talu}\p{scx=Tale}\p{scx=Cham}\p{scx=Sund}\p{scx=Tavt}]/u

/** Whether a run of delimiters between these two characters may open and close, whatever CommonMark says of them. */
export function isBothFlanking(before: string, after: string, length: number): boolean {
  if (before === '' || after === '' || SPACE.test(before) || SPACE.test(after)) return false
  return attaches(before, after, length) && attaches(after, before, length)
}

/** Whether `one` can be part of the word that `other` belongs to. */
function attaches(one: string, other: string, length: number): boolean {
  if (!PUNCTUATION.test(one)) return true
  if (!ASCII.test(one)) return true
  if (ASCII.test(other) || !LETTER.test(other)) return false
  // A single asterisk is a sign of multiplication too, as in `π*(a+b)*2`.
  return length > 1 || UNSPACED.test(other)
}

/** Whether a run is an operator between digits, as in `10*15*20 cm`. */
export const isOperator = (before: string, after: string, length: number): boolean =>
  length === 1 && DIGIT.test(before) && DIGIT.test(after)

export const characterBefore = (text: string, at: number): string => {
  const near = text.slice(Math.max(0, at - 2), at)
  return [...near].at(-1) ?? ''
}
export const characterAt = (text: string, at: number): string =>
  at >= text.length ? '' : String.fromCodePoint(text.codePointAt(at)!)

/**
 * The text in which the lexer looks for delimiters: of the same length, with letters where punctuation counts as one,
 * and without asterisks that are operators.
 */
export function maskNeighbors(text: string): string {
  const pieces: string[] = []
  let from = 0
  for (const { 0: run, index } of text.matchAll(/\*+|~~+/g)) {
    const end = index + run.length
    const [before, after] = [characterBefore(text, index), characterAt(text, end)]
    if (run === '*' && isOperator(before, after, 1)) {
      pieces.push(text.slice(from, index), '+')
      from = end
    } else if (isBothFlanking(before, after, run.length)) {
      // Between two runs, the character may have been replaced already.
      const start = Math.max(from, index - before.length)
      pieces.push(text.slice(from, start), letters(text.slice(start, index)), run, letters(after))
      from = end + after.length
    }
  }
  return pieces.length === 0 ? text : pieces.join('') + text.slice(from)
}

const letters = (character: string): string => (PUNCTUATION.test(character) ? 'a'.repeat(character.length) : character)
