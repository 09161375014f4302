import type { Pcm } from '../facts.ts'
import { FliteThreads, type Speech } from './flite-threads.ts'
import { piecesOf } from './pieces.ts'
import { type LocalVoice, NoSuchVoice, type SpeakOptions, voiceFor } from './voice.ts'

/** Built-in speech: Flite (http://cmuflite.org) compiled to WebAssembly. English only. */
export interface Flite extends AsyncDisposable {
  voices: readonly LocalVoice[]
  speak(text: string, options: SpeakOptions): Promise<Pcm>
}

const VOICES: readonly LocalVoice[] = [
  { name: 'slt', title: 'SLT', languages: ['en-US'], gender: 'female' },
  { name: 'rms', title: 'RMS', languages: ['en-US'], gender: 'male' },
  { name: 'awb', title: 'AWB', languages: ['en-GB'], gender: 'male' },
  { name: 'kal16', title: 'KAL, 16 kHz', languages: ['en-US'], gender: 'male' },
  { name: 'kal', title: 'KAL, 8 kHz', languages: ['en-US'], gender: 'male' },
]

const AHEAD = 2

export function createFlite(): Flite {
  const threads = new FliteThreads()
  return {
    voices: VOICES,
    async speak(text, options) {
      const { name } = voiceFor('flite', VOICES, options)
      const leaving = new AbortController()
      const signal = AbortSignal.any([leaving.signal, ...(options.signal ? [options.signal] : [])])
      const readable = plain(text)
      if (!/[A-Za-z0-9]/.test(readable))
        throw new NoSuchVoice(
          'input',
          'Flite supports only English in Latin letters and digits, and the text has none. Use espeak-ng or another model.',
        )
      const pieces = piecesOf(readable)
      const waiting: Promise<Speech>[] = []
      let next = 0
      const ask = (): void => {
        if (next >= pieces.length) return
        const speech = threads.speak(
          { text: pieces[next++]!, voice: name, speed: options.speed },
          { ...options, signal },
        )
        // Reported where it is awaited.
        speech.catch(() => {})
        waiting.push(speech)
      }
      ask()
      const { sampleRate } = await waiting[0]!
      return {
        sampleRate,
        bytes: {
          [Symbol.asyncIterator]: () => ({
            async next() {
              while (waiting.length <= AHEAD && next < pieces.length) ask()
              const first = waiting.shift()
              return first === undefined ? { done: true, value: undefined } : { done: false, value: (await first).pcm }
            },
            async return() {
              leaving.abort(new Error('nobody listens'))
              return { done: true, value: undefined }
            },
          }),
        },
      }
    },
    [Symbol.asyncDispose]: () => threads[Symbol.asyncDispose](),
  }
}

/**
 * Converts text to ASCII for Flite: removes accents, simplifies quotes and dashes, and replaces the rest with spaces.
 */
export const plain = (text: string): string =>
  text
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[‘’‚]/g, "'")
    .replaceAll(/[“”„«»]/g, '"')
    .replaceAll(/[–—]/g, ' - ')
    .replaceAll(/[^\x20-\x7e\n]/g, ' ')
