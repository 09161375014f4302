import { isWord } from '../../model/json.ts'
import type { Spoken } from '../adapter.ts'

/** A new segment begins after this much silence. */
const PAUSE_SECONDS = 1.5
const LONGEST_SECONDS = 30
const ENDS_SENTENCE = /[.!?。！？…]["'”’)\]]*$/

/**
 * Segments of words, for vendors that tell words alone: they end with a sentence, a speaker's turn, a pause, or after 30 s.
 * `joint`: what stands between two words.
 */
export function segmentsOf(words: readonly Spoken[], joint = ' '): Spoken[] {
  const segments: Spoken[] = []
  for (const word of words) {
    const open = segments.at(-1)
    if (open === undefined || !joins(open, word)) segments.push({ ...word })
    else segments[segments.length - 1] = { ...open, text: open.text + joint + word.text, endSeconds: word.endSeconds }
  }
  return segments
}

const joins = (open: Spoken, word: Spoken): boolean =>
  open.speaker === word.speaker &&
  word.startSeconds - open.endSeconds < PAUSE_SECONDS &&
  word.endSeconds - open.startSeconds <= LONGEST_SECONDS &&
  !ENDS_SENTENCE.test(open.text)

const names = new Intl.DisplayNames(['en'], { type: 'language' })
const letters = [...'abcdefghijklmnopqrstuvwxyz']
/** Whisper names a language by its English name in lower case, and others by a tag. */
const byName = new Map(
  letters.flatMap((first) =>
    letters.flatMap((second) => {
      const tag = first + second
      const name = names.of(tag)
      return name === undefined || name === tag ? [] : [[name.toLowerCase(), tag] as const]
    }),
  ),
)

/** A language as a vendor names it, as BCP 47; null: it names none that is known. */
export function languageTag(said: unknown): string | null {
  if (!isWord(said)) return null
  const known = byName.get(said.toLowerCase())
  if (known !== undefined) return known
  try {
    // Three letters of ISO 639-2 become two where there are two.
    return /^[a-z]{2,3}(?:[-_]\w+)*$/i.test(said)
      ? (Intl.getCanonicalLocales(said.replaceAll('_', '-'))[0] ?? null)
      : null
  } catch {
    return null
  }
}
