import { numbersOf } from './seed.ts'

const WORDS = 'alpha bravo charlie delta echo foxtrot golf hotel india juliet kilo lima mike november oscar papa'.split(
  ' ',
)
const SECONDS_PER_WORD = 0.4
const WORDS_PER_SEGMENT = 12
const MAX_WORDS = 20_000

export interface SimulatedWord {
  text: string
  startSeconds: number
  endSeconds: number
}

/**
 * Placeholder words for a recording, as many as were likely spoken: first a notice that they are simulated, then the
 * alphabet.
 */
export function simulatedWords(digest: string, seconds: number | null): SimulatedWord[][] {
  const next = numbersOf(digest)
  const length = seconds ?? 4
  const count = Math.min(MAX_WORDS, Math.max(3, Math.floor(length / SECONDS_PER_WORD)))
  const step = length / count
  const words = Array.from({ length: count }, (_, i) => ({
    text: ['This', 'is', 'simulated:'][i] ?? WORDS[Math.floor(next() * WORDS.length)]!,
    startSeconds: round(i * step),
    endSeconds: round((i + 1) * step),
  }))
  return Array.from({ length: Math.ceil(count / WORDS_PER_SEGMENT) }, (_, i) =>
    words.slice(i * WORDS_PER_SEGMENT, (i + 1) * WORDS_PER_SEGMENT),
  )
}

const round = (seconds: number): number => Math.round(seconds * 1_000) / 1_000
