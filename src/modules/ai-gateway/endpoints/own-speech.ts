import type { CatalogueModel } from '#gateway/catalogue/model.ts'
import { instanceSource } from './environment.ts'
import type { Source } from './sources.ts'

export interface OwnVoice {
  name: string
  title: string
  /** BCP 47, the main language first. */
  languages: readonly string[]
  gender: 'female' | 'male' | 'neutral' | null
}

export interface OwnSpeech {
  readonly engines: readonly OwnEngine[]
  voices(engine: OwnEngine): Promise<readonly OwnVoice[]>
  readonly formats: readonly string[]
}
export type OwnEngine = 'flite' | 'espeak-ng'

const NAMES: Record<OwnEngine, string> = { flite: 'Flite', 'espeak-ng': 'eSpeak NG' }

/** Local speech engines as free models: `local/flite`, and `local/espeak-ng` if installed. */
export async function speechSource(speech: OwnSpeech, at: string): Promise<Source> {
  const voices = await Promise.all(speech.engines.map((engine) => speech.voices(engine).catch(() => [])))
  return {
    ...instanceSource(
      'server',
      { slug: 'local', name: 'This server', shape: 'openai-chat', baseUrl: '', billing: 'free' },
      at,
    ),
    own: speech.engines.map((engine, i) => modelOf(engine, voices[i]!, speech.formats, at.slice(0, 10))),
  }
}

const modelOf = (
  engine: OwnEngine,
  voices: readonly OwnVoice[],
  formats: readonly string[],
  day: string,
): CatalogueModel => ({
  slug: `local/${engine}`,
  provider: 'local',
  upstream_model: engine,
  name: NAMES[engine],
  kind: 'speech',
  context_length: null,
  max_output_tokens: null,
  modalities: { input: ['text'], output: ['audio'] },
  capabilities: [],
  capability_index: null,
  capability_index_source: null,
  media: {
    kind: 'speech',
    formats: [...formats],
    languages: [...new Set(voices.flatMap(({ languages }) => languages))].toSorted(),
    streams: true,
    max_characters: null,
  },
  pricing: { input: '0', output: '0', character: '0' },
  price_source: 'local',
  price_date: day,
  released_at: null,
})
