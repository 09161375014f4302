import { type MediaAbilities, isMediaKind, unknownAbilities } from '#gateway/catalogue/media.ts'
import type { Draft } from './draft.ts'

interface Known {
  /** The provider's slug here, and a pattern of its model names. */
  of: readonly [provider: string, model: RegExp]
  can: Partial<MediaAbilities>
}

/** OpenAI's API description 2.3.0 (github.com/openai/openai-openapi, commit f85dbe2): `CreateImageRequest`, `CreateSpeechRequest`, `CreateTranscriptionRequest`. */
const openai: Known[] = [
  { of: ['openai', /^gpt-image-/], can: { max_n: 10, edits: true, masks: true } },
  { of: ['openai', /^gpt-image-1/], can: { sizes: ['1024x1024', '1536x1024', '1024x1536'] } },
  {
    of: ['openai', /tts/],
    can: { formats: ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'], max_characters: 4_096, streams: true },
  },
  {
    of: ['openai', /whisper|transcribe/],
    can: { formats: ['flac', 'mp3', 'mp4', 'mpeg', 'mpga', 'm4a', 'ogg', 'wav', 'webm'] },
  },
  { of: ['openai', /^gpt-.*transcribe/], can: { streams: true } },
  { of: ['openai', /^whisper/], can: { streams: false } },
]

const google: Known[] = [
  // The vendor's own words in their names.
  { of: ['google', /^imagen-.*-fast-/], can: { tier: 'fast' } },
  { of: ['google', /^imagen-.*-ultra-/], can: { tier: 'premium' } },
  { of: ['google', /^imagen-4\.0-generate/], can: { tier: 'standard' } },
  // ai.google.dev/gemini-api/docs/video, "Veo 3.1": text, first and last frames, references; 720p, 1080p or 4k, with sound. Lengths: docs.leonardo.ai, veo-31.
  {
    of: ['google', /^veo-3\.1-(fast-)?generate-/],
    can: {
      modes: ['text_to_video', 'image_to_video', 'frames', 'references'],
      resolutions: ['720p', '1080p', '4k'],
      seconds: [4, 6, 8],
      audio: true,
    },
  },
  // Which resolutions it has, its price list says.
  { of: ['google', /^veo-3\.1-lite-/], can: { resolutions: ['720p', '1080p'], seconds: [4, 6, 8] } },
]

const others: Known[] = [
  { of: ['fal', /imagen4\/preview\/fast$/], can: { tier: 'fast' } },
  { of: ['fal', /imagen4\/preview\/ultra$/], can: { tier: 'premium' } },
  // `schnell` is the maker's word for fast.
  { of: ['fal', /flux\/schnell$/], can: { tier: 'fast' } },
  // elevenlabs.io/docs/api-reference/text-to-speech: `output_format`, and `…/stream`.
  { of: ['elevenlabs', /^eleven_/], can: { formats: ['mp3', 'pcm', 'opus', 'wav'], streams: true } },
]

const all = [...openai, ...google, ...others]

/** The known abilities of a media model. Undefined: unknown. */
export function abilitiesOf({ provider, upstream_model, kind, modalities }: Draft): MediaAbilities | undefined {
  if (!isMediaKind(kind)) return undefined
  const known = all.filter(({ of: [whose, pattern] }) => whose === provider && pattern.test(upstream_model))
  // A source that lists pictures among what it reads means pictures to change.
  const edits = kind === 'image' && modalities.input.includes('image') ? { edits: true } : {}
  if (known.length === 0 && Object.keys(edits).length === 0) return undefined
  return Object.assign(unknownAbilities(kind), edits, ...known.map(({ can }) => can)) as MediaAbilities
}
