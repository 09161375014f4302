import type { ProviderVoice } from './provider-voice.ts'

const voice = (id: string, more: Partial<ProviderVoice> = {}): ProviderVoice => ({
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

/** From OpenAI's API description 2.3.0 (`VoiceIdsShared`). No endpoint lists them. */
export const openaiVoices: readonly ProviderVoice[] =
  'alloy ash ballad cedar coral echo fable marin nova onyx sage shimmer verse'.split(' ').map((id) => voice(id))

/** From ai.google.dev/gemini-api/docs/speech-generation, "Voice options". They speak any language. */
const STYLES = `Achernar soft, Achird friendly, Algenib gravelly, Algieba smooth, Alnilam firm, Aoede breezy, Autonoe bright,
  Callirrhoe easy-going, Charon informative, Despina smooth, Enceladus breathy, Erinome clear, Fenrir excitable, Gacrux mature,
  Iapetus clear, Kore firm, Laomedeia upbeat, Leda youthful, Orus firm, Puck upbeat, Pulcherrima forward, Rasalgethi informative,
  Sadachbia lively, Sadaltager knowledgeable, Schedar even, Sulafat warm, Umbriel easy-going, Vindemiatrix gentle, Zephyr bright,
  Zubenelgenubi casual`

/** From cloud.google.com/text-to-speech/docs/chirp3-hd. No source states the others' gender. */
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

export const geminiVoices: readonly ProviderVoice[] = STYLES.split(',').map((words) => {
  const [id, style] = words.trim().split(' ') as [string, string]
  return voice(id, { gender: GENDERS[id] ?? null, styles: [style] })
})

/** Custom voices of an OpenAI account, which no endpoint lists. */
export const isCustomVoice = (id: string): boolean => /^voice_[\w-]+$/.test(id)
