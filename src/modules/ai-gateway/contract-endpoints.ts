import { z } from 'zod'
import { headerName, headerValue } from '#core/text/header-fields.ts'
import { base, deleted, endpoint, flag, id, idOut, one, page, time } from '#core/contract.ts'
import { mediaPrices } from './contract-prices.ts'
import { standing } from './contract-standing.ts'

export const textShape = z.enum(['openai-chat', 'openai-responses', 'anthropic-messages', 'gemini', 'ollama'])
export const shape = z.enum([
  ...textShape.options,
  'elevenlabs',
  'deepgram',
  'replicate',
  'fal',
  'black-forest-labs',
  'stability',
])
const slug = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,31}$/, 'must be 1 to 32 of a-z, 0-9 and -, not beginning with -')
  .refine((words) => !['sim', 'local', 'auto'].includes(words), '`sim`, `local` and `auto` are reserved')
  .meta({ id: 'ProviderSlug', description: 'The platform id of a model is `slug/id`.' })

export const EndpointModel = z
  .strictObject({
    id: z.string().trim().min(1).max(256).describe('What the provider calls the model.'),
    name: z.string().trim().min(1).max(120).optional(),
    kind: z
      .enum(['text', 'embedding', 'image', 'video', 'speech', 'transcription'])
      .optional()
      .describe('What it makes; `transcription` writes down speech. Default: as the catalogue knows it, else text.'),
    context_length: z.number().int().min(1).max(1_000_000_000).optional(),
    max_output_tokens: z.number().int().min(1).max(1_000_000_000).optional(),
    pricing: z
      .strictObject(mediaPrices)
      .meta({ examples: [{ input: 2.5, output: 10 }] })
      .optional()
      .describe(
        'USD per million units. Default: the catalogue’s. `input` and `output` are needed but where `kind` says that it makes or reads media.',
      ),
    capabilities: z.array(z.string().min(1).max(40)).max(40).optional(),
    quantization: z
      .enum(['int4', 'int8', 'fp4', 'mxfp4', 'nvfp4', 'fp6', 'fp8', 'mxfp8', 'fp16', 'bf16', 'fp32'])
      .optional()
      .describe('Of its weights. Left out: unknown.'),
  })
  .superRefine(({ kind = 'text', pricing }, context) => {
    if (pricing === undefined || (kind !== 'text' && kind !== 'embedding')) return
    for (const bucket of ['input', 'output'] as const)
      if (pricing[bucket] === undefined)
        context.addIssue({
          code: 'custom',
          path: ['pricing', bucket],
          message: 'must be given, unless `kind` is one of media',
        })
  })
  .meta({ id: 'EndpointModel' })

const knows = z.boolean().nullable()
const DataPolicy = z
  .strictObject({
    keeps: knows.default(null).describe('Prompts are kept after the answer.'),
    trains: knows.default(null).describe('Models are trained on prompts.'),
  })
  .meta({ id: 'DataPolicy', description: 'What is known of what becomes of prompts there. Null: not known.' })

const fields = {
  name: z.string().trim().min(1).max(120),
  slug,
  shape: shape.describe(
    'The wire shape that the provider speaks. Those of `elevenlabs` and after it make or read media, and write no text.',
  ),
  base_url: z
    .string()
    .trim()
    .max(2_048)
    .describe(
      'With the version segment for the OpenAI shapes (…/v1), Gemini (…/v1beta) and the vendors of media (…/v1, Stability …/v2beta; fal has none: the queue’s origin); without for Anthropic and Ollama.',
    ),
  api_key: z
    .string()
    .trim()
    .regex(/^[\x21-\x7e]{1,4096}$/, 'must be visible ASCII without spaces')
    .nullable()
    .describe(
      'Never shown again. Null takes it away. A preset with `needs_key` is refused without it, unless `headers` carry what its vendor takes instead. Of several parts for `bedrock`: `<access key id>:<secret>[:<session token>]`, or a Bedrock API key; for `vertex`: a service account’s key file in base64, or an access token.',
    ),
  headers: z
    .record(headerName, headerValue)
    .refine((headers) => Object.keys(headers).length <= 32, 'may hold 32 headers at most')
    .describe(
      'Sent with every call; the values are never shown again. Settings of the gateway’s own stand under `x-uk-…` and are never sent: `x-uk-region` (`bedrock`, where the host names none), `x-uk-api-version` (`azure`, where `base_url` does not end in /openai/v1), `x-uk-betas` (`bedrock`, `vertex`: betas of Anthropic’s that may travel).',
    ),
  models: z
    .array(EndpointModel)
    .max(500)
    .describe('Empty: the catalogue’s models of the preset, or the provider is asked.'),
  enabled: z.boolean(),
  priority: z.number().int().min(0).max(65_535).describe('The lowest is asked first.'),
  weight: z.number().min(0).max(65_535).describe('Shares the calls among endpoints of equal priority.'),
  data_policy: DataPolicy.describe(
    'What you know of the provider. Calls that ask for `data_collection: deny` or `zdr` go only where it says so.',
  ),
}

const test = z
  .boolean()
  .default(true)
  .describe('False: it is not tested now, and its `status` is `untested` until it is called or somebody tests it.')

export const ProviderEndpoint = z
  .object({
    ...base,
    name: z.string(),
    slug: z.string(),
    preset: z.string().nullable(),
    shape,
    base_url: z.string(),
    has_api_key: z.boolean(),
    api_key_last4: z.string().nullable(),
    header_names: z.array(z.string()),
    models: z.array(EndpointModel),
    enabled: z.boolean(),
    ...standing,
    priority: z.int(),
    weight: z.number(),
    data_policy: z.object({ keeps: knows, trains: knows }),
    workspace_id: idOut.nullable(),
    instance: z.boolean(),
    created_by: idOut.nullable(),
  })
  .meta({ id: 'ProviderEndpoint' })

export const Preset = z
  .object({
    id: idOut,
    created_at: time,
    slug: z.string().describe('The name to give as `preset`.'),
    name: z.string(),
    shape,
    base_url: z.string().nullable().describe('Null: no source names one address for all.'),
    needs_key: z.boolean().nullable(),
    reports_cost: z.boolean().nullable().describe('Its answers state what a call cost. Null: not known.'),
    local: z.boolean().describe('Runs on hardware of one’s own, so its models cost 0.'),
    models_count: z.int().nullable().describe('In the catalogue; null: the provider is asked.'),
  })
  .meta({ id: 'ProviderPreset' })

export const Tested = z
  .object({
    id: idOut,
    created_at: time,
    ok: z.boolean(),
    latency_ms: z.int(),
    models_count: standing.models_count,
    error: z.string().nullable(),
  })
  .meta({ id: 'ProviderEndpointTest' })

const at = '/ai-gateway/provider-endpoints'

export const providerEndpoints = {
  list: endpoint(`GET ${at}`, {
    summary: 'List provider endpoints',
    description:
      'Your own and those of your workspaces; for the administrator also the instance’s. A key of one workspace sees that one’s.',
    scope: 'gateway:read',
    query: {
      workspace_id: id.optional().describe('Only this workspace’s.'),
      enabled: flag.optional(),
    },
    reply: page(ProviderEndpoint),
  }),
  presets: endpoint(`GET ${at}/presets`, {
    summary: 'List the providers that are known by name',
    scope: 'gateway:read',
    reply: page(Preset),
  }),
  get: endpoint(`GET ${at}/:id`, {
    summary: 'One provider endpoint',
    scope: 'gateway:read',
    on: 'provider_endpoint',
    reply: one(ProviderEndpoint),
    beyond: true,
  }),
  create: endpoint(`POST ${at}`, {
    summary: 'Add a provider endpoint with a key of yours',
    description:
      'Without `workspace_id` and `instance` it is your own. A workspace’s needs the role admin there. A key of one workspace adds to that one. It is tested at once, by what costs nothing there; what comes of it within 3 seconds is in the answer, else a moment later in `status`.',
    scope: 'gateway:write',
    consent: 'person',
    body: {
      preset: z.string().max(32).nullable().default(null).describe('Fills in what is left out.'),
      name: fields.name.optional().describe('Default: the preset’s.'),
      slug: fields.slug.optional().describe('Default: the preset’s.'),
      shape: fields.shape.optional().describe('Default: the preset’s.'),
      base_url: fields.base_url.optional().describe(`Default: the preset’s. ${fields.base_url.description}`),
      api_key: fields.api_key.default(null),
      headers: fields.headers.default({}),
      models: fields.models.default([]),
      enabled: fields.enabled.default(true),
      priority: fields.priority.default(0),
      weight: fields.weight.default(1),
      data_policy: fields.data_policy.default({ keeps: null, trains: null }),
      workspace_id: id.nullable().default(null),
      instance: z.boolean().default(false).describe('For everybody here, on credits. Only the administrator.'),
      test,
    },
    reply: one(ProviderEndpoint),
    status: 201,
    errors: ['already_exists', 'limit_reached', 'insufficient_role', 'policy_denied', 'missing_parameter'],
  }),
  update: endpoint(`PATCH ${at}/:id`, {
    summary: 'Change a provider endpoint',
    description:
      'A `base_url` with another origin needs `api_key` again, and `headers` if there are some. It is tested anew where address, shape, key or headers change, or it is switched on.',
    scope: 'gateway:write',
    consent: 'person',
    on: 'provider_endpoint',
    role: 'admin',
    body: { ...z.object(fields).partial().shape, test },
    reply: one(ProviderEndpoint),
    errors: ['already_exists', 'policy_denied', 'missing_parameter'],
  }),
  delete: endpoint(`DELETE ${at}/:id`, {
    summary: 'Delete a provider endpoint and its key',
    scope: 'gateway:write',
    consent: 'person',
    on: 'provider_endpoint',
    role: 'admin',
    reply: deleted,
  }),
  test: endpoint(`POST ${at}/:id/test`, {
    summary: 'Ask the provider whether address and key work',
    description: 'Connects for real, disabled or not. What goes wrong is in `error`; the answer is 200 all the same.',
    scope: 'gateway:write',
    on: 'provider_endpoint',
    role: 'admin',
    reply: one(Tested),
  }),
}
