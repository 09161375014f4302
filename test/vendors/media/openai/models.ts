// The image, audio, and video models of the loopback OpenAI.

export type ImageModel = {
  id: string
  makes: 'image'
  /** `any`: multiples of 16, between 1:3 and 3:1, up to 3840×2160. */
  sizes: string[] | 'any'
  qualities: string[]
  /** Limit of `n`; default 10. */
  most?: number
  /**
   * Like dall-e: links or base64 as requested, without usage. OpenAI retired it in May 2026, but others still speak it.
   */
  legacy?: true
}

/** `tokens`: billed by tokens, streams, and answers JSON only; else by seconds. `diarizes`: distinguishes speakers. */
export type HearingModel = { id: string; makes: 'transcription'; tokens?: true; diarizes?: true }
/** `streams`: accepts `stream_format: sse` and instructions. */
export type SpeakingModel = { id: string; makes: 'speech'; streams?: true }
export type FilmModel = { id: string; makes: 'video' }
export type MediaModel = ImageModel | HearingModel | SpeakingModel | FilmModel

const square = ['1024x1024', '1536x1024', '1024x1536']
const qualities = ['low', 'medium', 'high']

export const mediaModels: MediaModel[] = [
  { id: 'gpt-image-2', makes: 'image', sizes: 'any', qualities },
  { id: 'gpt-image-2.5-flare', makes: 'image', sizes: 'any', qualities: [...qualities, 'xhigh', 'max'] },
  { id: 'gpt-image-1.5', makes: 'image', sizes: square, qualities },
  { id: 'gpt-image-1-mini', makes: 'image', sizes: square, qualities },
  {
    id: 'dall-e-3',
    makes: 'image',
    sizes: ['1024x1024', '1792x1024', '1024x1792'],
    qualities: ['standard', 'hd'],
    most: 1,
    legacy: true,
  },
  { id: 'tts-1', makes: 'speech' },
  { id: 'tts-1-hd', makes: 'speech' },
  { id: 'gpt-4o-mini-tts', makes: 'speech', streams: true },
  { id: 'whisper-1', makes: 'transcription' },
  { id: 'gpt-4o-transcribe', makes: 'transcription', tokens: true },
  { id: 'gpt-4o-mini-transcribe', makes: 'transcription', tokens: true },
  { id: 'gpt-4o-transcribe-diarize', makes: 'transcription', tokens: true, diarizes: true },
  { id: 'sora-2', makes: 'video' },
  { id: 'sora-2-pro', makes: 'video' },
]

export const voices = [
  'alloy',
  'ash',
  'ballad',
  'coral',
  'echo',
  'fable',
  'onyx',
  'nova',
  'sage',
  'shimmer',
  'verse',
  'marin',
  'cedar',
]
