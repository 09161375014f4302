import { refuse } from '#core/errors.ts'
import { type Json, objectOf } from '../../../model/json.ts'
import type {
  ImageRequest,
  MediaInput,
  SoundFormat,
  SpeechRequest,
  TranscriptionRequest,
} from '../../../media/adapter.ts'
import { type Fields, SOUND_FORMATS } from './read-fields.ts'

/** `further`: fields that only OpenAI-shaped providers accept. */
type ParsedRequest<R, O> = Omit<R, 'model'> & { answer: O; further: Json }

export interface ImageAnswer {
  format: 'b64_json' | 'url'
  stream: boolean
}

const MAX_IMAGES = 10

export function readImages(
  fields: Fields,
  files: { images: readonly MediaInput[]; mask: MediaInput | null },
): ParsedRequest<ImageRequest, ImageAnswer> {
  const n = fields.number('n') ?? 1
  if (!Number.isInteger(n) || n < 1 || n > MAX_IMAGES)
    refuse('invalid_parameter', { param: 'n', message: `\`n\` must be a whole number from 1 to ${MAX_IMAGES}.` })
  const background = fields.word('background', ['transparent', 'opaque'])
  fields.ignore('model')
  return {
    kind: 'image',
    providerOptions: {},
    prompt: fields.needed('prompt'),
    n,
    size: fields.size('size'),
    aspectRatio: null,
    quality: auto(fields.text('quality')),
    transparent: background === null ? null : background === 'transparent',
    outputFormat: fields.word('output_format', ['png', 'jpeg', 'webp']),
    seed: null,
    negativePrompt: null,
    images: files.images,
    mask: files.mask,
    answer: {
      format: fields.word('response_format', ['b64_json', 'url']) ?? 'b64_json',
      stream: fields.flag('stream'),
    },
    further: fields.rest(),
  }
}

const auto = (word: string | null): string | null => (word === 'auto' ? null : word)

export interface SpeechAnswer {
  format: SoundFormat
  events: boolean
}

const MAX_CHARACTERS = 100_000

export function readSpeech(fields: Fields): ParsedRequest<SpeechRequest, SpeechAnswer> {
  const input = fields.needed('input')
  if (input.length > MAX_CHARACTERS)
    refuse('invalid_parameter', { param: 'input', message: `\`input\` can have up to ${MAX_CHARACTERS} characters.` })
  const speed = fields.number('speed')
  if (speed !== null && (speed < 0.25 || speed > 4))
    refuse('invalid_parameter', { param: 'speed', message: '`speed` must be from 0.25 to 4.' })
  const format = fields.word('response_format', SOUND_FORMATS) ?? 'mp3'
  fields.ignore('model')
  const [voice] = fields.list('voice')
  return {
    kind: 'speech',
    providerOptions: {},
    input,
    voice: voiceOf(voice),
    format,
    speed,
    language: null,
    instructions: fields.text('instructions'),
    answer: { format, events: fields.word('stream_format', ['sse', 'audio']) === 'sse' },
    further: fields.rest(),
  }
}

/** A name, or `{id}` of a custom voice. */
function voiceOf(voice: unknown): string | null {
  if (voice === undefined) return null
  const name = typeof voice === 'string' ? voice : objectOf(voice)['id']
  if (typeof name === 'string' && name !== '') return name
  return refuse('invalid_parameter', { param: 'voice', message: '`voice` must be a name, or an object with an `id`.' })
}

const TRANSCRIPT_FORMATS = ['json', 'text', 'srt', 'verbose_json', 'vtt', 'diarized_json'] as const

export interface TranscriptAnswer {
  format: (typeof TRANSCRIPT_FORMATS)[number]
  stream: boolean
}

export function readTranscription(
  fields: Fields,
  sound: MediaInput,
): ParsedRequest<TranscriptionRequest, TranscriptAnswer> {
  const format = fields.word('response_format', TRANSCRIPT_FORMATS) ?? 'json'
  const granularities = fields.list('timestamp_granularities')
  const stream = fields.flag('stream')
  fields.ignore('model')
  const plain = format === 'json' || format === 'text'
  return {
    kind: 'transcription',
    providerOptions: {},
    sound,
    language: fields.text('language'),
    prompt: fields.text('prompt'),
    timestamps: granularities.includes('word') ? 'word' : plain && !stream ? 'none' : 'segment',
    speakers: format === 'diarized_json',
    answer: { format, stream },
    further: fields.rest(),
  }
}
