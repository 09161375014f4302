/** The first piece is short, so that its sound is there soon; later ones are made while it is heard. */
const FIRST = 60
const LATER = 240

/**
 * A text in pieces that are spoken one after the other: whole sentences where they are short enough, else cut behind a
 * comma, at a blank, or where nothing else is left within a word. Joined, they are the text but for the blanks around them.
 */
export function piecesOf(text: string, language = 'en'): string[] {
  const sentences = new Intl.Segmenter(language, { granularity: 'sentence' }).segment(text)
  const pieces: string[] = []
  for (const { segment } of sentences) {
    let rest = segment.trim()
    while (rest !== '') {
      const most = pieces.length === 0 ? FIRST : LATER
      const last = pieces.at(-1)
      // Each piece costs a start of its own: short sentences behind the first share one.
      if (pieces.length > 1 && last!.length + 1 + rest.length <= LATER) {
        pieces[pieces.length - 1] = `${last!} ${rest}`
        break
      }
      const at = rest.length <= most ? rest.length : cutOf(rest, most)
      pieces.push(rest.slice(0, at).trim())
      rest = rest.slice(at).trim()
    }
  }
  return pieces
}

/** The place where a piece of at most so many characters ends. */
function cutOf(text: string, most: number): number {
  const head = text.slice(0, most + 1)
  const clause = Math.max(...[', ', '; ', ': ', ' – ', ' — ', '\n'].map((mark) => head.lastIndexOf(mark)))
  if (clause > most / 3) return clause + 1
  const blank = head.search(/\s\S*$/)
  if (blank > 0) return blank
  // A code point is not cut in two.
  return /[\ud800-\udbff]/.test(text[most - 1]!) ? most - 1 : most
}
