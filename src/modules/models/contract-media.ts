import { z } from 'zod'
import { byScope } from '#core/access.ts'
import { area, endpoint, flag, page, results } from '#core/contract.ts'
import { Model, status } from './contract.ts'
import { voiceEndpoints } from './contract-voices.ts'

const unit = 'USD per'
const known = z.boolean().nullable()

export const ImageModel = Model.extend({
  kind: z.literal('image'),
  sizes: z.array(z.string()).describe('Such as `1024x1024`, as accepted by `size`. Empty: unknown.'),
  max_n: z.int().nullable().describe('Images per provider request. For more, several requests are made.'),
  edits: known.describe('Whether it can edit images.'),
  masks: known.describe('Whether edits are limited to the mask.'),
  tier: z.enum(['fast', 'standard', 'premium']).nullable(),
}).meta({ id: 'ImageModel', description: 'Null and empty values: unknown.' })

const modes = z.enum(['text_to_video', 'image_to_video', 'frames', 'references', 'video_to_video'])
export const VideoModel = Model.extend({
  kind: z.literal('video'),
  modes: z.array(modes),
  resolutions: z.array(z.string()).describe('`720p`, `1080p`, `4k`.'),
  seconds: z.array(z.number()).describe('The supported lengths.'),
  audio: known.describe('Whether it generates sound.'),
}).meta({ id: 'VideoModel', description: 'Null and empty values: unknown.' })

const audioKind = z.enum(['speech', 'transcription'])
export const AudioModel = Model.extend({
  kind: audioKind.describe('`speech` converts text to speech, `transcription` converts speech to text.'),
  formats: z.array(z.string()).describe('Output formats for speech, input formats for transcription.'),
  languages: z.array(z.string()).describe('BCP 47.'),
  streams: known.describe('Whether it can stream.'),
  max_characters: z.int().nullable().describe('Unicode code points per provider request.'),
  speed: z
    .number()
    .nullable()
    .describe('Characters per second of the most recent speech generated here. Null: none yet.'),
}).meta({ id: 'AudioModel', description: 'Null and empty values: unknown.' })

const provider = z.string().max(64).optional().describe('The slug of a provider.')
const q = z.string().max(200).optional().describe('Words that must all appear in the slug or name.')
const order = z
  .enum(['asc', 'desc'])
  .optional()
  .describe('Default: asc, or desc for speed. Unknown values always come last.')
const maxPrice = (of: string) =>
  z.coerce
    .number()
    .min(0)
    .optional()
    .describe(`${unit} ${of}. Excludes models without such a price, such as those charged by token.`)
const sort = z
  .enum(['price', 'name'])
  .optional()
  .describe('Default: name. `price`: the price per unit, as in `max_price`.')

const imageFilters = {
  q,
  provider,
  tier: z.enum(['fast', 'standard', 'premium']).optional(),
  max_price: maxPrice('image; if the price depends on the size, one of 1024x1024'),
  sort,
  order,
}
const videoFilters = {
  q,
  provider,
  mode: modes.optional(),
  resolution: z.string().max(20).optional().describe('`720p`, `1080p`, `4k`.'),
  audio: flag.optional().describe('With or without sound.'),
  max_price: maxPrice('second'),
  sort,
  order,
}
const language = z
  .string()
  .regex(/^[a-z]{2,3}(-[a-z0-9]{1,8})*$/i, 'must be a language tag such as en or en-GB')
  .meta({ examples: ['en'] })
  .optional()
  .describe('A BCP 47 tag. `en` includes `en-GB`.')
const audioFilters = {
  q,
  provider,
  kind: audioKind.optional(),
  language,
  min_speed: z.coerce
    .number()
    .min(0)
    .optional()
    .describe('Characters per second. Excludes models without a measurement.'),
  max_price: maxPrice('character of speech, or second of transcribed audio'),
  sort: z.enum(['speed', 'price', 'name']).optional().describe('Default: name.'),
  order,
}

const listed = 'Models available to you, by slug. `status` extends the list to the catalogue.'

export const images = area(
  'images',
  { title: 'Images', summary: 'Models that generate and edit images.' },
  {
    models: endpoint('GET /images/models', {
      summary: 'List image models',
      description: listed,
      access: byScope('model:read'),
      query: { provider, kind: z.literal('image').optional(), status },
      reply: page(ImageModel),
    }),
    search_models: endpoint('GET /images/models/search', {
      summary: 'Search image models by provider, tier and price',
      access: byScope('model:read'),
      query: { ...imageFilters, status },
      reply: results(ImageModel, imageFilters),
      limit: 'searches',
    }),
  },
)

export const videos = area(
  'videos',
  { title: 'Videos', summary: 'Models that generate video.' },
  {
    models: endpoint('GET /videos/models', {
      summary: 'List video models',
      description: listed,
      access: byScope('model:read'),
      query: { provider, kind: z.literal('video').optional(), status },
      reply: page(VideoModel),
    }),
    search_models: endpoint('GET /videos/models/search', {
      summary: 'Search video models by provider, mode, resolution, sound and price',
      access: byScope('model:read'),
      query: { ...videoFilters, status },
      reply: results(VideoModel, videoFilters),
      limit: 'searches',
    }),
  },
)

export const audio = area(
  'audio',
  { title: 'Audio', summary: 'Models for speech and transcription, and their voices.' },
  {
    models: endpoint('GET /audio/models', {
      summary: 'List speech and transcription models',
      description: listed,
      access: byScope('model:read'),
      query: { provider, kind: audioKind.optional(), status },
      reply: page(AudioModel),
    }),
    search_models: endpoint('GET /audio/models/search', {
      summary: 'Search speech and transcription models by language, speed and price',
      access: byScope('model:read'),
      query: { ...audioFilters, status },
      reply: results(AudioModel, audioFilters),
      limit: 'searches',
    }),
    ...voiceEndpoints({ provider, q, language }),
  },
)
