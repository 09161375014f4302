import { z } from 'zod'
import { DriveFile } from '#modules/drive/contract.ts'
import { inWorkspace } from '#core/access.ts'
import {
  endpoint,
  flag,
  id,
  idOut,
  mediaSource,
  operation,
  stream,
  time,
  usd,
  words,
  workspaceId,
} from '#core/contract.ts'
import { usageSchema } from '#core/usage.ts'

/** Limit of a JSON body. Larger audio needs a form. */
const JSON_BYTES = 32 << 20

const file = z.strictObject({ kind: z.literal('file'), file_id: id })
export const MediaSource = z
  .discriminatedUnion('kind', [file, ...mediaSource.options])
  .meta({ id: 'MediaSource', description: 'A drive file, a URL to fetch, or the bytes themselves.' })
export type MediaSource = z.output<typeof MediaSource>

const size = z
  .string()
  .regex(/^[1-9]\d{1,4}x[1-9]\d{1,4}$/, 'must be WIDTHxHEIGHT in pixels, such as 1024x1024')
  .optional()
  .describe('Width and height in pixels, such as `1024x1024`. Alternative to `aspect_ratio`.')
const aspectRatio = z
  .string()
  .regex(/^[1-9]\d?:[1-9]\d?$/, 'must be a ratio such as 16:9')
  .optional()
const prompt = words(32_000).refine((text) => text.trim() !== '', 'must not be empty')
const seed = z.coerce
  .number()
  .int()
  .min(0)
  .max(2 ** 32 - 1)
  .optional()
const negative = words(32_000).optional().describe('What the result should not show.')
const background = flag
  .default(false)
  .describe('Returns 202 immediately, with an operation whose `result` is the response.')

/** `example`: a model of this kind. */
const model = (example: string) =>
  z
    .string()
    .min(1)
    .max(300)
    .meta({ examples: [example] })
const word = (most: number) => words(most).refine((text) => text !== '', 'must not be empty')
/** Valid in JSON, but not in PostgreSQL: U+0000 and surrogates, as JSON writes them. */
const UNSTORABLE = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/i
const providerOptions = z
  .record(z.string(), z.unknown())
  .refine((options) => !UNSTORABLE.test(JSON.stringify(options)), 'must not contain U+0000 or an unpaired surrogate')
const sharedFields = {
  provider_options: providerOptions
    .default({})
    .describe(
      'Additional fields, passed to the provider unchanged. The amount to generate and the model can be set only in the fields of this request.',
    ),
  workspace_id: workspaceId,
}
/** JSON text in a form. */
const providerOptionsOfForm = z
  .union([providerOptions, z.string().transform(jsonObject).pipe(providerOptions)])
  .default({})
  .describe(
    'Additional fields, passed to the provider unchanged; as JSON text in a form. The amount to generate and the model can be set only in the fields of this request.',
  )
const savedFields = {
  ...sharedFields,
  parent_id: id
    .optional()
    .describe('The folder to save files in. Default: `Generated` in the root of the workspace, created when needed.'),
  name: words(200).optional().describe('The name of the files. Default: the first words of the prompt.'),
}

const speechFields = {
  model: model('sim/speech')
    .optional()
    .describe('A speech model, as listed by `GET /audio/models`. Default: the server’s built-in engine.'),
  input: words(1_000_000)
    .refine((text) => text.trim() !== '', 'must not be empty')
    .describe('The text to speak.'),
  voice: word(300)
    .optional()
    .describe('A voice, as listed by `GET /audio/voices`: its slug, its ID or the provider’s name.'),
  speed: z.number().min(0.25).max(4).optional(),
  language: words(35).optional().describe('BCP 47.'),
  instructions: words(4_096).optional().describe('How to speak the text.'),
}

export const MediaFile = DriveFile.extend({
  width: z.int().nullable(),
  height: z.int().nullable(),
  duration_seconds: z.number().nullable(),
  url: z.string().describe('A signed download link.'),
  url_expires_at: time,
  revised_prompt: z.string().nullable().describe('The prompt as rewritten by the provider.'),
}).meta({ id: 'MediaFile' })

const resultFields = {
  id: idOut,
  created_at: time,
  kind: z.enum(['image', 'video', 'speech', 'transcription']),
  model: z
    .string()
    .meta({ examples: ['sim/image'] })
    .describe('The platform ID of the model used.'),
  provider: z.string(),
  files: z.array(MediaFile),
  simulated: z.boolean().describe('Whether the result is a simulation instead of a model’s output.'),
  losses: z.array(z.string()).describe('Request fields that weren’t sent to the provider, or that it couldn’t apply.'),
  usage: usageSchema,
  cost_usd: usd.nullable().describe('Null for a model without a price.'),
}
export const MediaAnswer = z.object(resultFields).meta({ id: 'MediaAnswer' })

const Spoken = z.object({
  start_seconds: z.number(),
  end_seconds: z.number(),
  text: z.string(),
  speaker: z.string().nullable(),
})
export const Transcription = z
  .object({
    ...resultFields,
    text: z.string(),
    language: z.string().nullable().describe('BCP 47.'),
    duration_seconds: z.number().nullable(),
    segments: z.array(Spoken),
    words: z.array(Spoken).nullable(),
    subtitles: z.string().nullable(),
  })
  .meta({ id: 'Transcription' })

const mediaDefaults = {
  limit: 'inference',
  bodyLimit: JSON_BYTES,
  errors: [
    'insufficient_credits',
    'spend_cap_reached',
    'budget_reached',
    'unpriced_model',
    'unsupported_model',
    'content_refused',
    'rate_limited',
    'provider_error',
    'bad_provider_answer',
    'outcome_unknown',
    'no_route',
    'unavailable',
    'timeout',
    'payload_too_large',
    'storage_full',
  ],
} as const

const asOperation =
  'Files are saved to the drive. Without `background`, the response is sent when they’re saved. After 10 minutes, or immediately with `background`, the response is an operation whose `result` is the same. A request is never submitted to a provider twice: if it’s unknown whether it arrived, the operation fails with `outcome_unknown`.'

const stamp = { seq: z.int().describe('The sequence number, starting at 1, without gaps.'), run_id: idOut, at: time }
const event = <const E extends string, const S extends z.ZodRawShape>(name: E, data: S) =>
  z.object({ event: z.literal(name), data: z.object({ ...stamp, ...data }) })
const sound = {
  format: z.enum(['pcm', 'mp3', 'opus']),
  sample_rate: z.int().nullable().describe('In Hz. Null if the audio itself contains it.'),
}
const failure = z.object({
  type: z.string(),
  message: z.string(),
  code: z.string().optional(),
  param: z.string().optional(),
  details: z.record(z.string(), z.unknown()).optional(),
})
export const SpeechEvent = z
  .discriminatedUnion('event', [
    event('audio.delta', { audio: z.string().describe('Base64.'), ...sound }),
    event('usage', { usage: usageSchema, cost_usd: usd.nullable() }),
    event('audio.completed', {
      id: idOut,
      ...sound,
      duration_seconds: z.number().nullable().describe('Null if the provider created the file and it wasn’t saved.'),
      size_bytes: z.int(),
      file: MediaFile.nullable().describe('The saved drive file.'),
    }),
    event('audio.failed', { error: failure }),
  ])
  .meta({ id: 'SpeechEvent' })

export const mediaEndpoints = {
  images: endpoint('POST /inference/images', {
    summary: 'Generate or edit images',
    example: { prompt: 'A lake in autumn' },
    description: `${asOperation} Send JSON, or a form in which the image parts \`images\` and \`mask\` come last.`,
    access: inWorkspace('inference:run'),
    ...mediaDefaults,
    takes: 'multipart',
    parts: ['images', 'mask'],
    body: {
      model: model('sim/image').describe('An image model, as listed by `GET /images/models`.'),
      prompt,
      n: z.coerce.number().int().min(1).max(10).default(1).describe('The number of images.'),
      size,
      aspect_ratio: aspectRatio,
      quality: word(32).optional().describe('A value defined by the provider, such as `low` or `high`.'),
      transparent: flag.optional(),
      output_format: z.enum(['png', 'jpeg', 'webp']).optional(),
      seed,
      negative_prompt: negative,
      images: z
        .array(MediaSource)
        .max(16)
        .default([])
        .describe('Images to edit. If omitted, an image is generated from the prompt.'),
      mask: MediaSource.optional().describe('A mask whose transparent areas are edited in the first image.'),
      background,
      ...savedFields,
      provider_options: providerOptionsOfForm,
    },
    reply: operation(MediaAnswer),
  }),
  videos: endpoint('POST /inference/videos', {
    summary: 'Generate a video',
    example: { prompt: 'A boat on a lake' },
    description: `Always returns 202 with an operation whose \`result\` is the response. ${asOperation.split('. ').at(-1)!}`,
    access: inWorkspace('inference:run'),
    ...mediaDefaults,
    body: {
      model: model('sim/video').describe('A video model, as listed by `GET /videos/models`.'),
      prompt,
      seconds: z.number().min(1).max(600).optional().describe('The duration. Default: the model’s default.'),
      size,
      resolution: z
        .string()
        .regex(/^(\d{3,4}p|\dk)$/i, 'must be a resolution such as 720p, 1080p or 4k')
        .optional(),
      aspect_ratio: aspectRatio,
      fps: z.int().min(1).max(120).optional(),
      audio: z.boolean().optional().describe('Whether to generate sound.'),
      seed,
      negative_prompt: negative,
      image: MediaSource.optional().describe('The first frame.'),
      last_frame: MediaSource.optional(),
      reference_images: z.array(MediaSource).max(16).default([]).describe('Reference images for what the video shows.'),
      background: z.boolean().default(true).describe('Videos are always generated in the background.'),
      ...savedFields,
    },
    reply: operation(MediaAnswer),
    status: 202,
  }),
  speech: endpoint('POST /inference/speech', {
    summary: 'Generate speech',
    description: asOperation,
    access: inWorkspace('inference:run'),
    ...mediaDefaults,
    body: {
      ...speechFields,
      format: z.enum(['mp3', 'wav', 'opus', 'aac', 'flac', 'pcm']).default('mp3'),
      background,
      ...savedFields,
    },
    reply: operation(MediaAnswer),
  }),
  speech_stream: endpoint('POST /inference/speech/stream', {
    summary: 'Generate speech and stream it',
    description:
      'Server-sent events. The `audio` of all `audio.delta` events, joined, is one playable file. If you disconnect, the provider request is canceled, and what was sent is billed. The stream can’t be resumed.',
    access: inWorkspace('inference:run'),
    ...mediaDefaults,
    body: {
      ...speechFields,
      ...savedFields,
      format: z.enum(['pcm', 'mp3', 'opus']).default('pcm').describe('`pcm`: 16-bit, little-endian, mono.'),
      save: flag.default(false).describe('Whether to save the audio to the drive when it’s complete.'),
    },
    reply: stream(SpeechEvent, 'caller'),
  }),
  transcriptions: endpoint('POST /inference/transcriptions', {
    summary: 'Transcribe audio',
    description:
      'Send JSON with `audio`, or a form whose part `file` comes last (up to 512 MiB). No file is saved. After 10 minutes, or immediately with `background`, the response is an operation whose `result` is the same.',
    access: inWorkspace('inference:run'),
    ...mediaDefaults,
    takes: 'multipart',
    body: {
      model: model('sim/transcription').describe('A transcription model, as listed by `GET /audio/models`.'),
      audio: MediaSource.optional().describe('The audio to transcribe. Alternative to the form part `file`.'),
      language: words(35).optional().describe('The spoken language, as a BCP 47 tag. Default: detected by the model.'),
      prompt: words(32_000).optional().describe('Names and terms in the audio, to spell them correctly.'),
      timestamps: z.enum(['segment', 'none', 'word']).default('segment'),
      speakers: flag.default(false).describe('Whether to identify the speakers.'),
      subtitles: z.enum(['srt', 'vtt']).optional(),
      background,
      ...sharedFields,
      provider_options: providerOptionsOfForm,
    },
    reply: operation(Transcription),
  }),
}

function jsonObject(text: string, context: z.RefinementCtx): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  } catch {
    // Reported below.
  }
  context.addIssue({ code: 'custom', message: 'must be a JSON object' })
  return z.NEVER
}
