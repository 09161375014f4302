/** The first piece is short so that playback starts soon; later ones are made meanwhile. */
const FIRST = 60
const LATER = 240

/**
 * Splits text into pieces: whole sentences if short enough, otherwise at a comma, a space, or within a word. Joined,
 * they equal the text except for spaces.
 */
export function piecesOf(text: string, language = 'en'): string[] {
  const sentences = new Intl.Segmenter(language, { granularity: 'sentence' }).segment(text)
  const pieces: string[] = []
  for (const { segment } of sentences) {
    let rest = segment.trim()
    while (rest !== '') {
      const most = pieces.length === 0 ? FIRST : LATER
      const last = pieces.at(-1)
      // Each piece has a startup cost, so short sentences after the first are combined.
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

function cutOf(text: string, most: number): number {
  const head = text.slice(0, most + 1)
  const clause = Math.max(...[', ', '; ', ': ', ' – ', ' — ', '\n'].map((mark) => head.lastIndexOf(mark)))
  if (clause > most / 3) return clause + 1
  const blank = head.search(/\s\S*$/)
  if (blank > 0) return blank
  // Doesn't split a code point.
  return /[\ud800-\udbff]/.test(text[most - 1]!) ? most - 1 : most
}
