import { z } from 'zod'
import { byScope, resource } from '#core/access.ts'
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
  .regex(/^[a-z0-9][a-z0-9-]{0,31}$/, 'must be 1 to 32 characters of a-z, 0-9 and -, and must not start with -')
  .refine((words) => !['sim', 'local', 'auto'].includes(words), '`sim`, `local` and `auto` are reserved')
  .meta({ id: 'ProviderSlug', description: 'The model ID on this platform is `slug/id`.' })

export const EndpointModel = z
  .strictObject({
    id: z
      .string()
      .trim()
      .min(1)
      .max(256)
      .describe('The model’s name at the provider.')
      .meta({ examples: ['gpt-4o'] }),
    name: z.string().trim().min(1).max(120).optional(),
    kind: z
      .enum(['text', 'embedding', 'image', 'video', 'speech', 'transcription'])
      .optional()
      .describe(
        'The kind of output. `transcription` converts speech to text. Default: the kind in the catalogue, otherwise text.',
      ),
    context_length: z.number().int().min(1).max(1_000_000_000).optional(),
    max_output_tokens: z.number().int().min(1).max(1_000_000_000).optional(),
    pricing: z
      .strictObject(mediaPrices)
      .meta({ examples: [{ input: 2.5, output: 10 }] })
      .optional()
      .describe(
        'USD per million units. Default: the catalogue’s price. `input` and `output` are required unless `kind` is a media kind.',
      ),
    capabilities: z.array(z.string().min(1).max(40)).max(40).optional(),
    quantization: z
      .enum(['int4', 'int8', 'fp4', 'mxfp4', 'nvfp4', 'fp6', 'fp8', 'mxfp8', 'fp16', 'bf16', 'fp32'])
      .optional()
      .describe('The quantization of the weights. If omitted: unknown.'),
  })
  .superRefine(({ kind = 'text', pricing }, context) => {
    if (pricing === undefined || (kind !== 'text' && kind !== 'embedding')) return
    for (const bucket of ['input', 'output'] as const)
      if (pricing[bucket] === undefined)
        context.addIssue({
          code: 'custom',
          path: ['pricing', bucket],
          message: 'is required, unless `kind` is a media kind',
        })
  })
  .meta({ id: 'EndpointModel' })

const knows = z.boolean().nullable()
const DataPolicy = z
  .strictObject({
    keeps: knows.default(null).describe('Whether prompts are stored after the response.'),
    trains: knows.default(null).describe('Whether models are trained on prompts.'),
  })
  .meta({ id: 'DataPolicy', description: 'The provider’s known data policy. Null: unknown.' })

const fields = {
  name: z.string().trim().min(1).max(120),
  slug,
  shape: shape.describe('The API format of the provider. `elevenlabs` and later values are for media only.'),
  base_url: z
    .string()
    .trim()
    .max(2_048)
    .describe(
      'The base URL. Include the version segment for OpenAI-compatible APIs (…/v1), Gemini (…/v1beta) and media providers (…/v1, Stability …/v2beta; for fal, the origin of the queue without a version). Leave it out for Anthropic and Ollama.',
    ),
  api_key: z
    .string()
    .trim()
    .regex(/^[\x21-\x7e]{1,4096}$/, 'must be visible ASCII without spaces')
    .nullable()
    .describe(
      'The provider’s API key. It’s never returned. Null removes it. Required for presets with `needs_key`, unless `headers` contain the credentials. For `bedrock`: `<access key id>:<secret>[:<session token>]`, or a Bedrock API key. For `vertex`: a service account key file in base64, or an access token.',
    ),
  headers: z
    .record(headerName, headerValue)
    .refine((headers) => Object.keys(headers).length <= 32, 'must have at most 32 headers')
    .describe(
      'Headers sent with every request. Values are never returned. Headers that start with `x-uk-` configure the gateway and aren’t sent: `x-uk-region` (`bedrock`, if the host doesn’t include one), `x-uk-api-version` (`azure`, if `base_url` doesn’t end in /openai/v1), `x-uk-betas` (`bedrock`, `vertex`: Anthropic betas to forward).',
    ),
  models: z
    .array(EndpointModel)
    .max(500)
    .describe('If empty, the preset’s models from the catalogue are used, or the provider’s own list.'),
  enabled: z.boolean(),
  priority: z.number().int().min(0).max(65_535).describe('Endpoints with a lower value are tried first.'),
  weight: z.number().min(0).max(65_535).describe('Splits requests among endpoints with the same priority.'),
  data_policy: DataPolicy.describe(
    'The provider’s data policy. Requests with `data_collection: deny` or `zdr` go only to endpoints that meet it.',
  ),
}

const test = z
  .boolean()
  .default(true)
  .describe('False: the endpoint isn’t tested now. Its `status` is `untested` until it’s used or tested.')

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
    slug: z.string().describe('The name to use as `preset`.'),
    name: z.string(),
    shape,
    base_url: z.string().nullable().describe('Null: there is no common URL for this provider.'),
    needs_key: z.boolean().nullable(),
    reports_cost: z.boolean().nullable().describe('Whether its responses include the cost. Null: unknown.'),
    local: z.boolean().describe('Whether it runs on your own hardware, so its models cost 0.'),
    models_count: z
      .int()
      .nullable()
      .describe('The number of models in the catalogue. Null: the provider’s own list is used.'),
  })
  .meta({ id: 'ProviderPreset' })

export const EndpointTestResult = z
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
      'Your own endpoints and those of your workspaces. For administrators, also the instance’s endpoints. A key restricted to one workspace sees only that workspace’s.',
    access: byScope('gateway:read'),
    query: {
      workspace_id: id.optional().describe('Only endpoints of this workspace.'),
      enabled: flag.optional(),
    },
    reply: page(ProviderEndpoint),
  }),
  presets: endpoint(`GET ${at}/presets`, {
    summary: 'List the provider presets',
    access: byScope('gateway:read'),
    reply: page(Preset),
  }),
  get: endpoint(`GET ${at}/:id`, {
    summary: 'Get a provider endpoint',
    access: resource('provider_endpoint', { scope: 'gateway:read' }),
    reply: one(ProviderEndpoint),
    beyond: true,
  }),
  create: endpoint(`POST ${at}`, {
    summary: 'Add a provider endpoint',
    description:
      'Without `workspace_id` and `instance`, the endpoint belongs to you. A workspace endpoint requires the role admin. A key restricted to one workspace adds to that workspace. The endpoint is tested immediately with a free request. A result within 3 seconds is in the response, otherwise it appears later in `status`.',
    access: byScope('gateway:write'),
    consent: 'person',
    body: {
      preset: z.string().max(32).nullable().default(null).describe('A preset with default values.'),
      name: fields.name.optional().describe('Default: the preset’s value.'),
      slug: fields.slug.optional().describe('Default: the preset’s value.'),
      shape: fields.shape.optional().describe('Default: the preset’s value.'),
      base_url: fields.base_url.optional().describe(`Default: the preset’s value. ${fields.base_url.description}`),
      api_key: fields.api_key.default(null),
      headers: fields.headers.default({}),
      models: fields.models.default([]),
      enabled: fields.enabled.default(true),
      priority: fields.priority.default(0),
      weight: fields.weight.default(1),
      data_policy: fields.data_policy.default({ keeps: null, trains: null }),
      workspace_id: id.nullable().default(null),
      instance: z
        .boolean()
        .default(false)
        .describe('Available to all users of the instance, paid with credits. Requires an administrator.'),
      test,
    },
    reply: one(ProviderEndpoint),
    status: 201,
    errors: ['already_exists', 'limit_reached', 'insufficient_role', 'policy_denied', 'missing_parameter'],
  }),
  update: endpoint(`PATCH ${at}/:id`, {
    summary: 'Update a provider endpoint',
    description:
      'If `base_url` has another origin, send `api_key` again, and `headers` if there are any. The endpoint is tested again when its URL, API format, key or headers change, or when it’s enabled.',
    access: resource('provider_endpoint', { scope: 'gateway:write', role: 'admin' }),
    consent: 'person',
    body: { ...z.object(fields).partial().shape, test },
    reply: one(ProviderEndpoint),
    errors: ['already_exists', 'policy_denied', 'missing_parameter'],
  }),
  delete: endpoint(`DELETE ${at}/:id`, {
    summary: 'Delete a provider endpoint and its key',
    access: resource('provider_endpoint', { scope: 'gateway:write', role: 'admin' }),
    consent: 'person',
    reply: deleted,
  }),
  test: endpoint(`POST ${at}/:id/test`, {
    summary: 'Test a provider endpoint',
    description:
      'Connects to the provider, even if the endpoint is disabled. Problems are reported in `error`; the response is 200 either way.',
    access: resource('provider_endpoint', { scope: 'gateway:write', role: 'admin' }),
    reply: one(EndpointTestResult),
  }),
}
