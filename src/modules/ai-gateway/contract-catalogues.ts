import { z } from 'zod'
import { area, base, deleted, endpoint, idOut, one, page, time } from '#core/contract.ts'
import { prices } from './contract-prices.ts'

const session = { scope: null, auth: 'session' } as const
const changed = z.object({
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
    sha256: z.string().describe('Of the bytes that were fetched.'),
    models_count: z.int().describe('That it tells of; what only the shipped catalogue knows goes on being served.'),
    priced_count: z.int(),
    changes: z.object({
      added: z.int(),
      repriced: z.int(),
      skipped: z.int().describe('Entries that were not understood.'),
      largest: z.array(changed).describe('The prices that moved most, USD per million tokens.'),
    }),
    serving: z.boolean().describe('It is the newest. False for a dry run.'),
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
  { title: 'Catalogue', summary: 'Models, prices and limits of the instance. For its administrator.' },
  {
    list: endpoint('GET /admin/catalogues', {
      summary: 'List the catalogues that were fetched; the newest serves',
      ...session,
      reply: page(Catalogue),
      beyond: true,
    }),
    refresh: endpoint('POST /admin/catalogues', {
      summary: 'Fetch models and prices anew',
      description:
        'From `UK_CATALOGUE_URL`. It is checked whole and then serves in every process at once, over what is shipped; calls that are booked keep their price. A list that is much shorter than the one before is refused unless `force` is set. 200 where nothing is new.',
      ...session,
      body: {
        dry_run: z.boolean().default(false).describe('Only tells what would change.'),
        force: z.boolean().default(false),
      },
      reply: one(Catalogue),
      status: 201,
      errors: ['provider_error', 'timeout', 'insufficient_role'],
      beyond: true,
    }),
    delete: endpoint('DELETE /admin/catalogues/:id', {
      summary: 'Delete a fetched catalogue; the one before it serves again',
      ...session,
      consent: 'person',
      reply: deleted,
      errors: ['insufficient_role'],
      beyond: true,
    }),
    overrides: endpoint('GET /admin/model-overrides', {
      summary: 'List prices and limits that the operator set',
      ...session,
      reply: page(ModelOverride),
      beyond: true,
    }),
    override: endpoint('PUT /admin/model-overrides', {
      summary: 'Set price or limits of a model',
      description:
        'Over every source, as `price_source: operator`, from the next call on. Replaces what was set for the model before. Prices that an endpoint gives its own models win over it.',
      ...session,
      body: {
        slug: z
          .string()
          .regex(
            /^(?!sim\/|local\/)[a-z0-9][a-z0-9-]{0,31}\/[^\s\0]{1,256}$/,
            'must be `provider/model`, of the catalogue’s providers',
          )
          .describe('Of the catalogue, such as `openai/gpt-5`. One that it does not know is added.')
          .meta({ examples: ['openai/gpt-5'] }),
        pricing: z
          .strictObject(prices)
          .nullable()
          .default(null)
          .describe('USD per million units. Null leaves the sources’.'),
        context_length: limit.default(null),
        max_output_tokens: limit.default(null),
        note: z.string().trim().max(500).default(''),
      },
      reply: one(ModelOverride),
      errors: ['insufficient_role', 'limit_reached'],
      beyond: true,
    }),
    remove_override: endpoint('DELETE /admin/model-overrides', {
      summary: 'Go back to the sources’ price and limits of a model',
      ...session,
      consent: 'person',
      query: { slug: z.string().max(300) },
      reply: deleted,
      errors: ['insufficient_role'],
      beyond: true,
    }),
  },
)
