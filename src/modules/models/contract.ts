import { z } from 'zod'
import { byScope } from '#core/access.ts'
import { area, endpoint, idOut, one, page, results, time, usd } from '#core/contract.ts'

const bucket = usd.nullable()
const prices = {
  input: usd,
  output: usd,
  reasoning: bucket,
  cache_read: bucket,
  cache_write_5m: bucket,
  cache_write_1h: bucket,
  image: bucket.describe('Generated images.'),
  pixel: bucket.describe('Pixels of generated images.'),
  image_input: bucket.describe('Input image tokens. Null: same as `input`.'),
  image_output: bucket.describe('Output image tokens. Null: same as `output`.'),
  audio_input: bucket,
  audio_output: bucket,
  audio_second: bucket.describe('Seconds of audio, input or output.'),
  video_second: bucket.describe('Seconds of generated video.'),
  character: bucket.describe('Unicode code points of spoken text.'),
  request: bucket.describe('USD per request.'),
}
const of = <T extends z.ZodType>(what: T) => what.nullable().describe('Null: any value.')
const when = { size: of(z.string()), quality: of(z.string()), resolution: of(z.string()), audio: of(z.boolean()) }
export const Pricing = z
  .object({
    ...prices,
    audio_unit: z.enum(['token', 'second']).nullable().describe('The unit of the audio prices.'),
    tiers: z
      .array(z.object({ above_input_tokens: z.int(), ...prices }))
      .describe('Prices that apply to a whole request with more input than this.'),
    variants: z
      .array(z.object({ when: z.object(when), ...prices, input: bucket, output: bucket }))
      .describe(
        'Prices that replace the others for matching media requests. The first match applies. Null keeps the price above.',
      ),
  })
  .meta({ id: 'Pricing', description: 'USD per million units. Null: unknown, which doesn’t mean free.' })

export const Model = z
  .object({
    id: idOut.describe('Derived from the endpoint’s owner and the slug.'),
    slug: z.string().describe('The platform ID: `provider/id`.'),
    name: z.string(),
    provider: z.string().describe('The slug of the provider endpoint that serves the model.'),
    created_at: time.describe('The release date. If unknown, the date of the price list or the endpoint.'),
    context_length: z.int().nullable(),
    max_output_tokens: z.int().nullable(),
    modalities: z.object({ input: z.array(z.string()), output: z.array(z.string()) }),
    capabilities: z.array(z.string()),
    capability_index: z.number().nullable().describe('0 to 100. Null: not rated.'),
    capability_index_source: z.string().nullable(),
    pricing: Pricing.nullable(),
    price_source: z.string().nullable(),
    price_date: z.string().nullable(),
    status: z
      .enum(['available', 'failing', 'no_provider'])
      .describe(
        '`failing`: all endpoints with this model are failing, so requests might fail. `no_provider`: the model is in the catalogue, but none of your endpoints serves it.',
      ),
    status_reason: z.string().nullable().describe('Why the model is `failing`.'),
  })
  .meta({ id: 'Model' })

export const status = z
  .enum(['available', 'failing', 'no_provider', 'all'])
  .default('available')
  .describe(
    '`available`: models you can use now. `failing`: models with only failing endpoints. `no_provider`: other models in the catalogue.',
  )

const price = z.coerce.number().min(0)
const filters = {
  q: z.string().max(200).optional().describe('Words that must all appear in the slug or name.'),
  provider: z.string().max(64).optional(),
  capability: z
    .array(z.string().min(1).max(40))
    .max(20)
    .optional()
    .describe('Repeatable; models must have all of them: tools, vision, reasoning, prompt_caching, …'),
  max_input_price: price.optional().describe('USD per million input tokens. Excludes models without a price.'),
  max_output_price: price.optional().describe('USD per million output tokens. Excludes models without a price.'),
  min_context_length: z.coerce.number().int().min(0).optional(),
  min_capability_index: z.coerce.number().min(0).max(100).optional(),
  sort: z
    .enum(['price', 'context_length', 'capability_index', 'created_at', 'name'])
    .optional()
    .describe('Default: name. `price` is the sum of input and output.'),
  order: z
    .enum(['asc', 'desc'])
    .optional()
    .describe('Default: asc for price and name, desc for the others. Unknown values always come last.'),
}

export const models = area(
  'models',
  { title: 'Models', summary: 'Language models with their capabilities, prices and availability.' },
  {
    list: endpoint('GET /models', {
      summary: 'List language models',
      description: 'Models available to you, by slug. `status` extends the list to the catalogue.',
      access: byScope('model:read'),
      query: { status },
      reply: page(Model),
    }),
    search: endpoint('GET /models/search', {
      summary: 'Search language models by capability, price and context',
      access: byScope('model:read'),
      query: { ...filters, status },
      reply: results(Model, filters),
      limit: 'searches',
    }),
    get: endpoint('GET /models/:id', {
      summary: 'Get a language model',
      description:
        'By ID or by slug. The slash in a slug can be encoded or not. Includes models that no provider serves for you.',
      access: byScope('model:read'),
      params: { id: z.string().min(1).max(300).describe('An ID or a slug.') },
      greedy: true,
      reply: one(Model),
    }),
  },
)
