// The fields of OpenAI's media routes (openai 7.55.0: images.d.ts, audio/*.d.ts, videos.d.ts).
import type { Rule } from '../../rules.ts'

const text: Rule = { kind: 'string', required: true }
const prompt = (max: number): Rule => ({ ...text, pattern: new RegExp(`^[^]{1,${max}}$`, 'u') })
const optionalText: Rule = { kind: 'string', nullable: true }
const flag: Rule = { kind: 'boolean', nullable: true }
const integer = (min: number, max: number): Rule => ({ kind: 'integer', nullable: true, min, max })
const oneOf = (...values: string[]): Rule => ({ kind: 'string', nullable: true, values })
const upload: Rule = { kind: 'object' }
const closedObject = (fields: Record<string, Rule>): Rule => ({ kind: 'object', fields, closed: true })

const picture: Record<string, Rule> = {
  prompt: prompt(32_000),
  model: optionalText,
  background: oneOf('transparent', 'opaque', 'auto'),
  complexity: oneOf('low', 'medium', 'high'),
  frame_count: integer(2, 16),
  frame_duration_ms: integer(1, 655_350),
  n: integer(1, 10),
  output_compression: integer(0, 100),
  output_format: oneOf('png', 'jpeg', 'webp', 'gif', 'svg'),
  partial_images: integer(0, 3),
  quality: oneOf('low', 'medium', 'high', 'xhigh', 'max', 'auto', 'standard', 'hd'),
  response_format: oneOf('url', 'b64_json'),
  safety_identifier: optionalText,
  size: optionalText,
  stream: flag,
  user: optionalText,
}

export const generation = closedObject({
  ...picture,
  moderation: oneOf('low', 'auto'),
  style: oneOf('vivid', 'natural'),
})

export const edit = closedObject({
  ...picture,
  image: { kind: ['object', 'array'], required: true, items: upload, minItems: 1, maxItems: 16 },
  mask: upload,
  markup: upload,
  input_fidelity: oneOf('high', 'low'),
})

export const speech = closedObject({
  model: text,
  input: prompt(4_096),
  voice: { kind: ['string', 'object'], required: true, fields: { id: text }, closed: true },
  instructions: { kind: 'string', pattern: /^[^]{0,4096}$/u },
  response_format: { kind: 'string', values: ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'] },
  speed: { kind: 'number', min: 0.25, max: 4 },
  stream_format: { kind: 'string', values: ['sse', 'audio'] },
})

const speechFields: Record<string, Rule> = {
  file: { ...upload, required: true },
  model: text,
  prompt: { kind: 'string' },
  temperature: { kind: 'number', min: 0, max: 1 },
}
const list = (values?: string[], maxItems = 100): Rule => ({
  kind: 'array',
  items: { kind: 'string', ...(values ? { values } : {}) },
  maxItems,
})

export const transcription = closedObject({
  ...speechFields,
  chunking_strategy: {
    kind: ['string', 'object'],
    values: ['auto'],
    fields: {
      type: { ...text, values: ['server_vad'] },
      prefix_padding_ms: { kind: 'integer' },
      silence_duration_ms: { kind: 'integer' },
      threshold: { kind: 'number', min: 0, max: 1 },
    },
    closed: true,
  },
  include: list(['logprobs']),
  keywords: list(),
  known_speaker_names: list(undefined, 4),
  known_speaker_references: list(undefined, 4),
  language: { kind: 'string' },
  languages: list(),
  response_format: { kind: 'string', values: ['json', 'text', 'srt', 'verbose_json', 'vtt', 'diarized_json'] },
  stream: { kind: 'boolean' },
  timestamp_granularities: list(['word', 'segment']),
})

export const translation = closedObject({
  ...speechFields,
  response_format: { kind: 'string', values: ['json', 'text', 'srt', 'verbose_json', 'vtt'] },
})

export const video = closedObject({
  prompt: prompt(32_000),
  model: { kind: 'string', values: ['sora-2', 'sora-2-pro'] },
  seconds: { kind: 'string', values: ['4', '8', '12'] },
  size: { kind: 'string', values: ['720x1280', '1280x720', '1024x1792', '1792x1024'] },
  input_reference: upload,
})
