/**
 * Words of scripts that are written without spaces (Chinese, Japanese, Thai, …), which nothing here can tell apart: the
 * index holds each two characters that stand together, and each one alone, and a question asks for its twos. Pure.
 */
const character = String.raw`(?=[\p{L}\p{Nl}])[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Bopo}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}]\p{M}*`
const RUN = new RegExp(`(?:${character})+`, 'gu')
const CHARACTER = new RegExp(character, 'gu')
const ASKED = new RegExp(String.raw`((?<!\S)-|)((?:${character})+)`, 'gu')
/** A row of the index may hold 1 MiB of words (PostgreSQL's tsvector), and so many characters could all be different. */
const MOST_CHARACTERS = 40_000

/** Wider, and looked through fifty times as fast: most texts hold none of these. */
const PERHAPS =
  /[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\ua9e0-\uaaff\ud800-\udfff\uf900-\ufaff\uff00-\uffef]/

export const isUnspaced = (text: string): boolean => PERHAPS.test(text) && text.search(RUN) >= 0

const charactersOf = (run: string): string[] => run.match(CHARACTER) ?? []

function twosOf(characters: readonly string[]): string[] {
  return characters.length === 1 ? [...characters] : characters.slice(1).map((next, i) => characters[i]! + next)
}

/** The text as the index takes it; itself where it is all words. */
export function forIndex(text: string): string {
  if (!isUnspaced(text)) return text
  const single = new Set<string>()
  let left = MOST_CHARACTERS
  const apart = text.replace(RUN, (run) => {
    const characters = charactersOf(run).slice(0, Math.max(0, left))
    left -= characters.length
    for (const one of characters) single.add(one)
    return ` ${twosOf(characters).join(' ')} `
  })
  // Behind all others, so that twos that stand together are neighbours there too.
  return `${apart}\n${[...single].join(' ')}`
}

/** The question, its signs as they are: what `-` leaves out is left out as a whole. */
export const forQuestion = (question: string): string =>
  question.replace(ASKED, (_, minus: string, run: string) => {
    const twos = twosOf(charactersOf(run)).join(' ')
    return minus === '' ? ` ${twos} ` : ` -"${twos}" `
  })

/** The spans of these twos or characters in a text; those that touch are one. */
export function unspacedSpans(text: string, stems: readonly string[]): { start: number; end: number }[] {
  const spans: { start: number; end: number }[] = []
  const all = stems.filter(isUnspaced).flatMap((stem) => {
    const places: { start: number; end: number }[] = []
    for (let at = text.indexOf(stem); at >= 0; at = text.indexOf(stem, at + 1))
      places.push({ start: at, end: at + stem.length })
    return places
  })
  for (const span of all.toSorted((a, b) => a.start - b.start)) {
    const last = spans.at(-1)
    if (last !== undefined && span.start <= last.end) last.end = Math.max(last.end, span.end)
    else spans.push(span)
  }
  return spans
}
