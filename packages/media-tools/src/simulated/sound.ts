import { setImmediate } from 'node:timers/promises'
import { numbersOf } from './seed.ts'

export const SIMULATED_RATE = 24_000
/** Reading speed (150 words of six letters a minute). */
const CHARACTERS_PER_SECOND = 15
const LONGEST_SECONDS = 3_600

export const secondsOf = (text: string, speed: number): number =>
  Math.min(LONGEST_SECONDS, Math.max(0.5, [...text].length / CHARACTERS_PER_SECOND / speed))

/**
 * Simulated speech: one tone per word, so no one takes it for a voice. 16-bit little-endian mono, yielded in tenths of
 * a second. Equal words give equal sound.
 */
export async function* toneOf(words: string, seconds: number): AsyncGenerator<Uint8Array, void, undefined> {
  const next = numbersOf(words)
  const total = Math.round(seconds * SIMULATED_RATE)
  const step = SIMULATED_RATE / 10
  let [pitch, remaining, length, phase] = [0, 0, 0, 0]
  for (let offset = 0; offset < total; offset += step) {
    const part = new Int16Array(Math.min(step, total - offset))
    for (let i = 0; i < part.length; i++) {
      if (remaining === 0) {
        pitch = 220 * 2 ** (Math.floor(next() * 12) / 12)
        remaining = length = Math.round(SIMULATED_RATE * (0.2 + next() * 0.3))
      }
      remaining -= 1
      phase += (2 * Math.PI * pitch) / SIMULATED_RATE
      // Fades each tone in and out, to avoid clicks.
      part[i] = Math.round(Math.sin(phase) * Math.sin((Math.PI * remaining) / length) * 8_000)
    }
    yield Buffer.from(part.buffer)
    await setImmediate()
  }
}
