import { z } from 'zod'
import { session } from '#core/access.ts'
import { area, base, deleted, endpoint, idOut, one, page, time } from '#core/contract.ts'
import { prices } from './contract-prices.ts'

const repricedModel = z.object({
  slug: z.string(),
  before: z.object({ input: z.number(), output: z.number() }).nullable(),
  now: z.object({ input: z.number(), output: z.number() }).nullable(),
})
export const Catalogue = z
  .object({
    id: idOut,
    created_at: time,
    created_by: idOut.nullable(),
    source_url: z.string(),
    sha256: z.string().describe('The checksum of the downloaded file.'),
    models_count: z
      .int()
      .describe('The number of models in it. Models that only the shipped catalogue has stay available.'),
    priced_count: z.int(),
    changes: z.object({
      added: z.int(),
      repriced: z.int(),
      skipped: z.int().describe('The number of entries that couldn’t be read.'),
      largest: z.array(repricedModel).describe('The largest price changes, in USD per million tokens.'),
    }),
    serving: z.boolean().describe('Whether it’s in use. False for a dry run.'),
  })
  .meta({ id: 'Catalogue' })

const limit = z.number().int().min(1).max(1_000_000_000).nullable()
export const ModelOverride = z
  .object({
    ...base,
    slug: z.string(),
    pricing: z.object(prices).partial().nullable(),
    context_length: z.int().nullable(),
    max_output_tokens: z.int().nullable(),
    note: z.string(),
    created_by: idOut.nullable(),
  })
  .meta({ id: 'ModelOverride' })

export const catalogues = area(
  'catalogues',
  { title: 'Catalogue', summary: 'The instance’s models, prices and limits. For administrators.' },
  {
    list: endpoint('GET /admin/catalogues', {
      summary: 'List downloaded catalogues',
      access: session(),
      reply: page(Catalogue),
      beyond: true,
    }),
    refresh: endpoint('POST /admin/catalogues', {
      summary: 'Download current models and prices',
      description:
        'Downloads from `UK_CATALOGUE_URL`. The catalogue is validated as a whole and then used by all processes at once, in addition to the shipped one. Recorded calls keep their price. A catalogue with far fewer prices than the previous one is rejected unless `force` is set. Returns 200 if nothing changed.',
      access: session(),
      body: {
        dry_run: z.boolean().default(false).describe('Returns what would change without changing anything.'),
        force: z.boolean().default(false),
      },
      reply: one(Catalogue),
      status: 201,
      errors: ['provider_error', 'timeout', 'insufficient_role'],
      beyond: true,
    }),
    delete: endpoint('DELETE /admin/catalogues/:id', {
      summary: 'Delete a downloaded catalogue and use the previous one',
      access: session(),
      consent: 'person',
      reply: deleted,
      errors: ['insufficient_role'],
      beyond: true,
    }),
    overrides: endpoint('GET /admin/model-overrides', {
      summary: 'List model overrides',
      access: session(),
      reply: page(ModelOverride),
      beyond: true,
    }),
    override: endpoint('PUT /admin/model-overrides', {
      summary: 'Set a model’s price or limits',
      description:
        'Overrides all other sources from the next call on (`price_source: operator`) and replaces an earlier override for the model. Prices set on an endpoint’s own models take precedence.',
      access: session(),
      body: {
        slug: z
          .string()
          .regex(
            /^(?!sim\/|local\/)[a-z0-9][a-z0-9-]{0,31}\/[^\s\0]{1,256}$/,
            'must be `provider/model`, with a provider of the catalogue',
          )
          .describe('A model in the catalogue, such as `openai/gpt-5`. Unknown models are added.')
          .meta({ examples: ['openai/gpt-5'] }),
        pricing: z
          .strictObject(prices)
          .nullable()
          .default(null)
          .describe('USD per million units. Null keeps the source’s price.')
          .meta({ examples: [{ input: 1.25, output: 10 }] }),
        context_length: limit.default(null),
        max_output_tokens: limit.default(null),
        note: z.string().trim().max(500).default(''),
      },
      reply: one(ModelOverride),
      errors: ['insufficient_role', 'limit_reached'],
      beyond: true,
    }),
    remove_override: endpoint('DELETE /admin/model-overrides', {
      summary: 'Delete a model override',
      access: session(),
      consent: 'person',
      query: { slug: z.string().max(300) },
      reply: deleted,
      errors: ['insufficient_role'],
      beyond: true,
    }),
  },
)
