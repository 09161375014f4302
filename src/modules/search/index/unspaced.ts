/**
 * Words in scripts without spaces (Chinese, Japanese, Thai, …), which aren't segmented: the index has each pair of
 * adjacent characters and each single character, and a query searches for its pairs.
 */
const character = String.raw`(?=[\p{L}\p{Nl}])[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Bopo}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}]\p{M}*`
const RUN = new RegExp(`(?:${character})+`, 'gu')
const CHARACTER = new RegExp(character, 'gu')
const ASKED = new RegExp(String.raw`((?<!\S)-|)((?:${character})+)`, 'gu')
/** PostgreSQL limits a tsvector to 1 MiB, and this many characters could all differ. */
const MAX_CHARACTERS = 40_000

/** A fast pre-check, 50 times faster: most texts contain none of these. */
const PERHAPS =
  /[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\ua9e0-\uaaff\ud800-\udfff\uf900-\ufaff\uff00-\uffef]/

export const isUnspaced = (text: string): boolean => PERHAPS.test(text) && text.search(RUN) >= 0

const charactersOf = (run: string): string[] => run.match(CHARACTER) ?? []

function twosOf(characters: readonly string[]): string[] {
  return characters.length === 1 ? [...characters] : characters.slice(1).map((next, i) => characters[i]! + next)
}

/** Adds pairs and single characters. Returns other texts unchanged. */
export function forIndex(text: string): string {
  if (!isUnspaced(text)) return text
  const single = new Set<string>()
  let remaining = MAX_CHARACTERS
  const paired = text.replace(RUN, (run) => {
    const characters = charactersOf(run).slice(0, Math.max(0, remaining))
    remaining -= characters.length
    for (const one of characters) single.add(one)
    return ` ${twosOf(characters).join(' ')} `
  })
  // At the end, so that adjacent pairs stay neighbors.
  return `${paired}\n${[...single].join(' ')}`
}

/** Keeps operators: `-` excludes the whole run. */
export const forQuestion = (question: string): string =>
  question.replace(ASKED, (_, minus: string, run: string) => {
    const twos = twosOf(charactersOf(run)).join(' ')
    return minus === '' ? ` ${twos} ` : ` -"${twos}" `
  })

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
