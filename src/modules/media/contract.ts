import { z } from 'zod'
import { DriveFile } from '#modules/drive/contract.ts'
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

/** The most that a body of JSON may have; larger sound comes as a form. */
const JSON_BYTES = 32 << 20

const file = z.strictObject({ kind: z.literal('file'), file_id: id })
export const MediaSource = z
  .discriminatedUnion('kind', [file, ...mediaSource.options])
  .meta({ id: 'MediaSource', description: 'A file of the drive, an address that is fetched, or the bytes themselves.' })
export type MediaSource = z.output<typeof MediaSource>

const size = z
  .string()
  .regex(/^[1-9]\d{1,4}x[1-9]\d{1,4}$/, 'must be WIDTHxHEIGHT in pixels, such as 1024x1024')
  .optional()
  .describe('Width and height in pixels, such as `1024x1024`; or give `aspect_ratio`.')
const aspectRatio = z
  .string()
  .regex(/^[1-9]\d?:[1-9]\d?$/, 'must be like 16:9')
  .optional()
const prompt = words(32_000).refine((text) => text.trim() !== '', 'must not be empty')
const seed = z.coerce
  .number()
  .int()
  .min(0)
  .max(2 ** 32 - 1)
  .optional()
const negative = words(32_000).optional().describe('What is not to be seen.')
const background = flag.default(false).describe('Answer 202 and an operation at once, whose `result` is the answer.')

/** `example`: of this kind; elsewhere a model writes text. */
const model = (example: string) =>
  z
    .string()
    .min(1)
    .max(300)
    .meta({ examples: [example] })
/** A word of the provider's own. */
const word = (most: number) => words(most).refine((text) => text !== '', 'must not be empty')
/** Characters that JSON can say and PostgreSQL cannot hold, as JSON writes them. */
const UNSTORABLE = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/i
const providerOptions = z
  .record(z.string(), z.unknown())
  .refine(
    (options) => !UNSTORABLE.test(JSON.stringify(options)),
    'must hold neither U+0000 nor half of a surrogate pair',
  )
const shared = {
  provider_options: providerOptions
    .default({})
    .describe(
      'Further fields for the provider, which gets them as they are. How much is to be made, and by which model, stands in the fields of this request alone.',
    ),
  workspace_id: workspaceId,
}
/** A form says them as text. */
const providerOptionsOfForm = z
  .union([providerOptions, z.string().transform(jsonObject).pipe(providerOptions)])
  .default({})
  .describe(
    'Further fields for the provider, which gets them as they are; in a form as JSON text. How much is to be made, and by which model, stands in the fields of this request alone.',
  )
const saved = {
  ...shared,
  parent_id: id
    .optional()
    .describe(
      'The folder that the files go to. Default: `Generated` at the root of the workspace, made when it is first needed.',
    ),
  name: words(200).optional().describe('What the files are called. Default: the first words of the prompt.'),
}

/** The fields of speech: the text, and how it is to be said. */
const spoken = {
  model: model('sim/speech')
    .optional()
    .describe('A model that speaks, as `GET /audio/models` lists them. Default: the server’s own engine.'),
  input: words(1_000_000)
    .refine((text) => text.trim() !== '', 'must not be empty')
    .describe('The text.'),
  voice: word(300)
    .optional()
    .describe('A voice as `GET /audio/voices` lists them: its slug, its id or the provider’s own name.'),
  speed: z.number().min(0.25).max(4).optional(),
  language: words(35).optional().describe('BCP 47.'),
  instructions: words(4_096).optional().describe('How it is to be said.'),
}

export const MediaFile = DriveFile.extend({
  width: z.int().nullable(),
  height: z.int().nullable(),
  duration_seconds: z.number().nullable(),
  url: z.string().describe('A signed link to the bytes.'),
  url_expires_at: time,
  revised_prompt: z.string().nullable().describe('The prompt as the provider rewrote it.'),
}).meta({ id: 'MediaFile' })

const made = {
  id: idOut,
  created_at: time,
  kind: z.enum(['image', 'video', 'speech', 'transcription']),
  model: z
    .string()
    .meta({ examples: ['sim/image'] })
    .describe('The platform id of the model that served.'),
  provider: z.string(),
  files: z.array(MediaFile),
  simulated: z.boolean().describe('It was drawn or spoken by a stand-in, not by a model.'),
  losses: z
    .array(z.string())
    .describe('Fields of the request that did not reach the provider, or that it could not follow.'),
  usage: usageSchema,
  cost_usd: usd.nullable().describe('Null for a model without a price.'),
}
export const MediaAnswer = z.object(made).meta({ id: 'MediaAnswer' })

const Spoken = z.object({
  start_seconds: z.number(),
  end_seconds: z.number(),
  text: z.string(),
  speaker: z.string().nullable(),
})
export const Transcription = z
  .object({
    ...made,
    text: z.string(),
    language: z.string().nullable().describe('BCP 47.'),
    duration_seconds: z.number().nullable(),
    segments: z.array(Spoken),
    words: z.array(Spoken).nullable(),
    subtitles: z.string().nullable(),
  })
  .meta({ id: 'Transcription' })

const kept = {
  scope: 'inference:run',
  within: 'workspace_id',
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
  'Files are saved in the drive. Without `background` the answer comes when they are there; after 10 minutes, and with `background` at once, an operation whose `result` it will be. What was submitted to a provider is never submitted twice: where it is not known whether it arrived, the operation fails with `outcome_unknown`.'

const stamp = { seq: z.int().describe('Gap-free, from 1.'), run_id: idOut, at: time }
const event = <const E extends string, const S extends z.ZodRawShape>(name: E, data: S) =>
  z.object({ event: z.literal(name), data: z.object({ ...stamp, ...data }) })
const sound = {
  format: z.enum(['pcm', 'mp3', 'opus']),
  sample_rate: z.int().nullable().describe('In Hz. Null where the sound itself says it.'),
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
      duration_seconds: z.number().nullable().describe('Null where the provider made the file and it was not saved.'),
      size_bytes: z.int(),
      file: MediaFile.nullable().describe('Where it was saved.'),
    }),
    event('audio.failed', { error: failure }),
  ])
  .meta({ id: 'SpeechEvent' })

/** The endpoints of pictures, videos, speech and transcriptions below `/inference`. */
export const mediaEndpoints = {
  images: endpoint('POST /inference/images', {
    summary: 'Make pictures from a prompt, or change given ones',
    example: { prompt: 'A lake in autumn' },
    description: `${asOperation} As JSON, or as a form whose parts \`images\` and \`mask\` are pictures and come last.`,
    ...kept,
    takes: 'multipart',
    parts: ['images', 'mask'],
    body: {
      model: model('sim/image').describe('A model of pictures, as `GET /images/models` lists them.'),
      prompt,
      n: z.coerce.number().int().min(1).max(10).default(1).describe('How many.'),
      size,
      aspect_ratio: aspectRatio,
      quality: word(32).optional().describe('In the provider’s words, such as `low` or `high`.'),
      transparent: flag.optional(),
      output_format: z.enum(['png', 'jpeg', 'webp']).optional(),
      seed,
      negative_prompt: negative,
      images: z
        .array(MediaSource)
        .max(16)
        .default([])
        .describe('Pictures to change; none: one is made from the prompt.'),
      mask: MediaSource.optional().describe('Where it is transparent the first picture is changed.'),
      background,
      ...saved,
      provider_options: providerOptionsOfForm,
    },
    reply: operation(MediaAnswer),
  }),
  videos: endpoint('POST /inference/videos', {
    summary: 'Make a video, as an operation',
    example: { prompt: 'A boat on a lake' },
    description: 'Always 202 and an operation, whose `result` is the answer. ' + asOperation.split('. ').at(-1)!,
    ...kept,
    body: {
      model: model('sim/video').describe('A model of videos, as `GET /videos/models` lists them.'),
      prompt,
      seconds: z.number().min(1).max(600).optional().describe('How long. Default: the model’s own.'),
      size,
      resolution: z
        .string()
        .regex(/^(\d{3,4}p|\dk)$/i, 'must be like 720p, 1080p or 4k')
        .optional(),
      aspect_ratio: aspectRatio,
      fps: z.int().min(1).max(120).optional(),
      audio: z.boolean().optional().describe('With sound.'),
      seed,
      negative_prompt: negative,
      image: MediaSource.optional().describe('The first frame.'),
      last_frame: MediaSource.optional(),
      reference_images: z.array(MediaSource).max(16).default([]).describe('What is to be seen in it.'),
      background: z.boolean().default(true).describe('A video is always made in the background.'),
      ...saved,
    },
    reply: operation(MediaAnswer),
    status: 202,
  }),
  speech: endpoint('POST /inference/speech', {
    summary: 'Say a text',
    description: asOperation,
    ...kept,
    body: {
      ...spoken,
      format: z.enum(['mp3', 'wav', 'opus', 'aac', 'flac', 'pcm']).default('mp3'),
      background,
      ...saved,
    },
    reply: operation(MediaAnswer),
  }),
  speech_stream: endpoint('POST /inference/speech/stream', {
    summary: 'Say a text, and hear it as it is made',
    description:
      'Server-sent events; the `audio` of all `audio.delta` joined is one playable file. Who disconnects ends the provider’s request, and what was sent is billed. It cannot be resumed.',
    ...kept,
    body: {
      ...spoken,
      ...saved,
      format: z.enum(['pcm', 'mp3', 'opus']).default('pcm').describe('`pcm`: 16 bit, little-endian, mono.'),
      save: flag.default(false).describe('Save the sound in the drive at its end.'),
    },
    reply: stream(SpeechEvent, 'caller'),
  }),
  transcriptions: endpoint('POST /inference/transcriptions', {
    summary: 'Write down what is said in a recording',
    description:
      'As JSON with `audio`, or as a form whose part `file` comes last (512 MiB at most). No file is saved. After 10 minutes, and with `background` at once, the answer is an operation whose `result` it will be.',
    ...kept,
    takes: 'multipart',
    body: {
      model: model('sim/transcription').describe('A model that listens, as `GET /audio/models` lists them.'),
      audio: MediaSource.optional().describe('The recording; or send it as the part `file` of a form.'),
      language: words(35).optional().describe('What is spoken, BCP 47. Default: the model finds out.'),
      prompt: words(32_000).optional().describe('Names and words that occur, to spell them right.'),
      timestamps: z.enum(['segment', 'none', 'word']).default('segment'),
      speakers: flag.default(false).describe('Say who speaks.'),
      subtitles: z.enum(['srt', 'vtt']).optional(),
      background,
      ...shared,
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
    // Said below.
  }
  context.addIssue({ code: 'custom', message: 'must be a JSON object' })
  return z.NEVER
}
