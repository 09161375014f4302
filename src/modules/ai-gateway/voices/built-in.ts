import type { FoundVoice } from './found-voice.ts'

const voice = (id: string, more: Partial<FoundVoice> = {}): FoundVoice => ({
  id,
  name: id,
  languages: [],
  gender: null,
  styles: [],
  previewUrl: null,
  model: null,
  createdAt: null,
  ...more,
})

/** OpenAI's API description 2.3.0 (`VoiceIdsShared`): there is no request that lists them, and it says nothing more of them. */
export const openaiVoices: readonly FoundVoice[] =
  'alloy ash ballad cedar coral echo fable marin nova onyx sage shimmer verse'.split(' ').map((id) => voice(id))

/** ai.google.dev/gemini-api/docs/speech-generation, "Voice options". They speak whatever language the text is in. */
const STYLES = `Achernar soft, Achird friendly, Algenib gravelly, Algieba smooth, Alnilam firm, Aoede breezy, Autonoe bright,
  Callirrhoe easy-going, Charon informative, Despina smooth, Enceladus breathy, Erinome clear, Fenrir excitable, Gacrux mature,
  Iapetus clear, Kore firm, Laomedeia upbeat, Leda youthful, Orus firm, Puck upbeat, Pulcherrima forward, Rasalgethi informative,
  Sadachbia lively, Sadaltager knowledgeable, Schedar even, Sulafat warm, Umbriel easy-going, Vindemiatrix gentle, Zephyr bright,
  Zubenelgenubi casual`

/** cloud.google.com/text-to-speech/docs/chirp3-hd names the gender of these; of the others no source that was read does. */
const GENDERS: Readonly<Record<string, 'female' | 'male'>> = {
  Aoede: 'female',
  Puck: 'male',
  Charon: 'male',
  Kore: 'female',
  Fenrir: 'male',
  Leda: 'female',
  Orus: 'male',
  Zephyr: 'female',
}

export const geminiVoices: readonly FoundVoice[] = STYLES.split(',').map((words) => {
  const [id, style] = words.trim().split(' ') as [string, string]
  return voice(id, { gender: GENDERS[id] ?? null, styles: [style] })
})

/** Voices that an account there has made; no list tells of them. */
export const isMadeThere = (id: string): boolean => /^voice_[\w-]+$/.test(id)
