import type { Pcm } from '../facts.ts'
import { createEspeak } from './espeak.ts'
import { createFlite } from './flite.ts'
import type { LocalVoice, SpeakOptions } from './voice.ts'

export type SpeechEngineName = 'flite' | 'espeak-ng'

export interface LocalSpeech extends AsyncDisposable {
  /** Includes `espeak-ng` if installed. The first is the default. */
  readonly engines: readonly SpeechEngineName[]
  voices(engine: SpeechEngineName): Promise<readonly LocalVoice[]>
  /** Streams raw samples. Throws `NoSuchVoice`, `Busy`, `ProgramFailed`. */
  speak(engine: SpeechEngineName, text: string, options: SpeakOptions): Promise<Pcm>
}

export function createLocalSpeech({ espeak: program }: { espeak: string | null }): LocalSpeech {
  const flite = createFlite()
  const espeak = program === null ? null : createEspeak(program)
  return {
    engines: espeak === null ? ['flite'] : ['flite', 'espeak-ng'],
    voices: async (engine) => (engine === 'flite' ? flite.voices : espeak!.voices()),
    speak: (engine, text, options) => (engine === 'flite' ? flite : espeak!).speak(text, options),
    async [Symbol.asyncDispose]() {
      espeak?.[Symbol.dispose]()
      await flite[Symbol.asyncDispose]()
    },
  }
}
