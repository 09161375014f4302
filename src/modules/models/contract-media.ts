import { z } from 'zod'
import { area, endpoint, flag, page, results } from '#core/contract.ts'
import { Model, status } from './contract.ts'
import { voiceEndpoints } from './contract-voices.ts'

const unit = 'USD of one'
const known = z.boolean().nullable()

export const ImageModel = Model.extend({
  kind: z.literal('image'),
  sizes: z.array(z.string()).describe('`1024x1024`, as `size` takes them. Empty: not known.'),
  max_n: z.int().nullable().describe('Pictures of one request to the provider; more are asked for by further ones.'),
  edits: known.describe('Changes pictures that it is given.'),
  masks: known.describe('Only where a mask lets it.'),
  tier: z.enum(['fast', 'standard', 'premium']).nullable(),
}).meta({ id: 'ImageModel', description: 'Null and empty: in no source.' })

const modes = z.enum(['text_to_video', 'image_to_video', 'frames', 'references', 'video_to_video'])
export const VideoModel = Model.extend({
  kind: z.literal('video'),
  modes: z.array(modes),
  resolutions: z.array(z.string()).describe('`720p`, `1080p`, `4k`.'),
  seconds: z.array(z.number()).describe('The lengths that can be asked for.'),
  audio: known.describe('With sound.'),
}).meta({ id: 'VideoModel', description: 'Null and empty: in no source.' })

const audioKind = z.enum(['speech', 'transcription'])
export const AudioModel = Model.extend({
  kind: audioKind.describe('`speech` says a text, `transcription` writes down what was said.'),
  formats: z.array(z.string()).describe('Of speech what it makes, of transcription what it reads.'),
  languages: z.array(z.string()).describe('BCP 47.'),
  streams: known.describe('Answers while it works.'),
  max_characters: z.int().nullable().describe('Unicode code points of one request to the provider.'),
  speed: z
    .number()
    .nullable()
    .describe('Characters a second of the speech that was last made with it here. Null: none was yet.'),
}).meta({ id: 'AudioModel', description: 'Null and empty: in no source.' })

const provider = z.string().max(64).optional().describe('The slug of a provider.')
const q = z.string().max(200).optional().describe('Words that must all be in the slug or the name.')
const order = z
  .enum(['asc', 'desc'])
  .optional()
  .describe('Default: asc, but desc for speed. What is not known stands last either way.')
const maxPrice = (of: string) =>
  z.coerce
    .number()
    .min(0)
    .optional()
    .describe(`${unit} ${of}. Leaves out what has no such price, as what charges tokens.`)
const sort = z.enum(['price', 'name']).optional().describe(`Default: name. \`price\`: of one, as in \`max_price\`.`)

const imageFilters = {
  q,
  provider,
  tier: z.enum(['fast', 'standard', 'premium']).optional(),
  max_price: maxPrice('picture, where it hangs on the size one of 1024x1024'),
  sort,
  order,
}
const videoFilters = {
  q,
  provider,
  mode: modes.optional(),
  resolution: z.string().max(20).optional().describe('`720p`, `1080p`, `4k`.'),
  audio: flag.optional().describe('With sound, or without.'),
  max_price: maxPrice('second'),
  sort,
  order,
}
const language = z
  .string()
  .regex(/^[a-z]{2,3}(-[a-z0-9]{1,8})*$/i, 'must be a language tag such as en or en-GB')
  .meta({ examples: ['en'] })
  .optional()
  .describe('BCP 47. `en` finds `en-GB`.')
const audioFilters = {
  q,
  provider,
  kind: audioKind.optional(),
  language,
  min_speed: z.coerce.number().min(0).optional().describe('Characters a second. Leaves out what was not measured.'),
  max_price: maxPrice('character of speech, or second of sound that is written down'),
  sort: z.enum(['speed', 'price', 'name']).optional().describe('Default: name.'),
  order,
}

const listed = 'What you can call now, by slug. `status` widens it to the catalogue.'
const read = { scope: 'model:read' } as const

export const images = area(
  'images',
  { title: 'Images', summary: 'Models that make and change pictures.' },
  {
    models: endpoint('GET /images/models', {
      summary: 'List models of pictures',
      description: listed,
      ...read,
      query: { provider, kind: z.literal('image').optional(), status },
      reply: page(ImageModel),
    }),
    search_models: endpoint('GET /images/models/search', {
      summary: 'Search models of pictures by provider, tier and price',
      ...read,
      query: { ...imageFilters, status },
      reply: results(ImageModel, imageFilters),
      limit: 'searches',
    }),
  },
)

export const videos = area(
  'videos',
  { title: 'Videos', summary: 'Models that make videos.' },
  {
    models: endpoint('GET /videos/models', {
      summary: 'List models of videos',
      description: listed,
      ...read,
      query: { provider, kind: z.literal('video').optional(), status },
      reply: page(VideoModel),
    }),
    search_models: endpoint('GET /videos/models/search', {
      summary: 'Search models of videos by provider, mode, resolution, sound and price',
      ...read,
      query: { ...videoFilters, status },
      reply: results(VideoModel, videoFilters),
      limit: 'searches',
    }),
  },
)

export const audio = area(
  'audio',
  { title: 'Audio', summary: 'Models that speak or write down speech, and their voices.' },
  {
    models: endpoint('GET /audio/models', {
      summary: 'List models of speech and transcription',
      description: listed,
      ...read,
      query: { provider, kind: audioKind.optional(), status },
      reply: page(AudioModel),
    }),
    search_models: endpoint('GET /audio/models/search', {
      summary: 'Search models of speech and transcription by language, speed and price',
      ...read,
      query: { ...audioFilters, status },
      reply: results(AudioModel, audioFilters),
      limit: 'searches',
    }),
    ...voiceEndpoints({ provider, q, language }),
  },
)
