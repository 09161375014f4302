import { z } from 'zod'
import { area, endpoint, idOut, one, page, results, time, usd } from '#core/contract.ts'

const bucket = usd.nullable()
const prices = {
  input: usd,
  output: usd,
  reasoning: bucket,
  cache_read: bucket,
  cache_write_5m: bucket,
  cache_write_1h: bucket,
  image: bucket.describe('Pictures made.'),
  pixel: bucket.describe('Pixels of pictures made.'),
  image_input: bucket.describe('Tokens of pictures that are read. Null: as `input`.'),
  image_output: bucket.describe('Tokens of pictures made. Null: as `output`.'),
  audio_input: bucket,
  audio_output: bucket,
  audio_second: bucket.describe('Seconds of sound, heard or made.'),
  video_second: bucket.describe('Seconds of video made.'),
  character: bucket.describe('Unicode code points that are spoken.'),
  request: bucket.describe('USD per request.'),
}
const of = <T extends z.ZodType>(what: T) => what.nullable().describe('Null: whatever it is.')
const when = { size: of(z.string()), quality: of(z.string()), resolution: of(z.string()), audio: of(z.boolean()) }
export const Pricing = z
  .object({
    ...prices,
    audio_unit: z.enum(['token', 'second']).nullable().describe('What the audio prices count.'),
    tiers: z
      .array(z.object({ above_input_tokens: z.int(), ...prices }))
      .describe('What holds instead for a whole request with more input than that.'),
    variants: z
      .array(z.object({ when: z.object(when), ...prices, input: bucket, output: bucket }))
      .describe(
        'What holds instead where a request for media is such: the first that matches. A price that is null is as above.',
      ),
  })
  .meta({ id: 'Pricing', description: 'USD per million units. Null: in no source, which is not free.' })

export const Model = z
  .object({
    id: idOut.describe('Derived from the owner of the endpoint and the slug.'),
    slug: z.string().describe('The platform id: `provider/id`.'),
    name: z.string(),
    provider: z.string().describe('The slug of the provider endpoint that serves it.'),
    created_at: time.describe('Its release; where no source names it, the date of the price list or of the endpoint.'),
    context_length: z.int().nullable(),
    max_output_tokens: z.int().nullable(),
    modalities: z.object({ input: z.array(z.string()), output: z.array(z.string()) }),
    capabilities: z.array(z.string()),
    capability_index: z.number().nullable().describe('0 to 100; null where nobody rated it.'),
    capability_index_source: z.string().nullable(),
    pricing: Pricing.nullable(),
    price_source: z.string().nullable(),
    price_date: z.string().nullable(),
    status: z
      .enum(['available', 'failing', 'no_provider'])
      .describe(
        '`failing`: every endpoint that has it is failing, so a call may well be refused. `no_provider`: it is in the catalogue, and no endpoint that you may use serves it.',
      ),
    status_reason: z.string().nullable().describe('Why it is `failing`.'),
  })
  .meta({ id: 'Model' })

export const status = z
  .enum(['available', 'failing', 'no_provider', 'all'])
  .default('available')
  .describe(
    '`available`: what you can call now. `failing`: what only failing endpoints have. `no_provider`: what the catalogue knows beside these.',
  )

const price = z.coerce.number().min(0)
const filters = {
  q: z.string().max(200).optional().describe('Words that must all be in the slug or the name.'),
  provider: z.string().max(64).optional(),
  capability: z
    .array(z.string().min(1).max(40))
    .max(20)
    .optional()
    .describe('Repeatable; all of them: tools, vision, reasoning, prompt_caching, …'),
  max_input_price: price.optional().describe('USD per million input tokens. Leaves out what has no price.'),
  max_output_price: price.optional().describe('USD per million output tokens. Leaves out what has no price.'),
  min_context_length: z.coerce.number().int().min(0).optional(),
  min_capability_index: z.coerce.number().min(0).max(100).optional(),
  sort: z
    .enum(['price', 'context_length', 'capability_index', 'created_at', 'name'])
    .optional()
    .describe('Default: name. `price` is input and output together.'),
  order: z
    .enum(['asc', 'desc'])
    .optional()
    .describe('Default: asc for price and name, desc for the others. What is not known stands last either way.'),
}

export const models = area(
  'models',
  { title: 'Models', summary: 'Language models: what they can do, what they cost, and which of them you can call.' },
  {
    list: endpoint('GET /models', {
      summary: 'List language models',
      description: 'What you can call now, by slug. `status` widens it to the catalogue.',
      scope: 'model:read',
      query: { status },
      reply: page(Model),
    }),
    search: endpoint('GET /models/search', {
      summary: 'Search language models by capability, price and context',
      scope: 'model:read',
      query: { ...filters, status },
      reply: results(Model, filters),
      limit: 'searches',
    }),
    get: endpoint('GET /models/:id', {
      summary: 'One model',
      description: 'By id or by slug; the slash of a slug may be encoded or plain. Also what nobody serves for you.',
      scope: 'model:read',
      params: { id: z.string().min(1).max(300).describe('An id or a slug.') },
      greedy: true,
      reply: one(Model),
    }),
  },
)
