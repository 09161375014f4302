import { isWord } from '../../model/json.ts'
import type { TranscriptSpan } from '../adapter.ts'

const PAUSE_SECONDS = 1.5
const LONGEST_SECONDS = 30
const ENDS_SENTENCE = /[.!?。！？…]["'”’)\]]*$/

/** For vendors that only return words: a segment ends with a sentence, a speaker's turn, a pause, or after 30 s. */
export function segmentsOf(words: readonly TranscriptSpan[], joint = ' '): TranscriptSpan[] {
  const segments: TranscriptSpan[] = []
  for (const word of words) {
    const open = segments.at(-1)
    if (open === undefined || !joins(open, word)) segments.push({ ...word })
    else segments[segments.length - 1] = { ...open, text: open.text + joint + word.text, endSeconds: word.endSeconds }
  }
  return segments
}

const joins = (open: TranscriptSpan, word: TranscriptSpan): boolean =>
  open.speaker === word.speaker &&
  word.startSeconds - open.endSeconds < PAUSE_SECONDS &&
  word.endSeconds - open.startSeconds <= LONGEST_SECONDS &&
  !ENDS_SENTENCE.test(open.text)

const names = new Intl.DisplayNames(['en'], { type: 'language' })
const letters = [...'abcdefghijklmnopqrstuvwxyz']
/** Whisper reports a language by its English name in lower case, others by a tag. */
const byName = new Map(
  letters.flatMap((first) =>
    letters.flatMap((second) => {
      const tag = first + second
      const name = names.of(tag)
      return name === undefined || name === tag ? [] : [[name.toLowerCase(), tag] as const]
    }),
  ),
)

/** Converts a vendor's language name to BCP 47; null: unknown. */
export function languageTag(name: unknown): string | null {
  if (!isWord(name)) return null
  const tag = byName.get(name.toLowerCase())
  if (tag !== undefined) return tag
  try {
    // ISO 639-2 codes of three letters become two letters where possible.
    return /^[a-z]{2,3}(?:[-_]\w+)*$/i.test(name)
      ? (Intl.getCanonicalLocales(name.replaceAll('_', '-'))[0] ?? null)
      : null
  } catch {
    return null
  }
}
