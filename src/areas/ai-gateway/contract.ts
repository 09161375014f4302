import { z } from 'zod'
import { area, base, day, deleted, endpoint, flag, id, idOut, one, page, time, usd } from '#kernel/contract.ts'
import { callSums } from '#kernel/usage.ts'

export const shape = z.enum(['openai-chat', 'openai-responses', 'anthropic-messages', 'gemini', 'ollama'])
const slug = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,31}$/, 'must be 1 to 32 of a-z, 0-9 and -, not beginning with -')
  .refine((words) => !['sim', 'local', 'auto'].includes(words), '`sim`, `local` and `auto` are reserved')
  .meta({ id: 'ProviderSlug', description: 'The platform id of a model is `slug/id`.' })

const price = z.number().min(0).max(1_000_000)
const prices = {
  input: price,
  output: price,
  reasoning: price.optional(),
  cache_read: price.optional(),
  cache_write_5m: price.optional(),
  cache_write_1h: price.optional(),
  image: price.optional(),
  audio_input: price.optional(),
  audio_output: price.optional(),
  request: price.optional().describe('USD per request.'),
}
export const EndpointModel = z
  .strictObject({
    id: z.string().trim().min(1).max(256).describe('What the provider calls the model.'),
    name: z.string().trim().min(1).max(120).optional(),
    context_length: z.number().int().min(1).max(1_000_000_000).optional(),
    max_output_tokens: z.number().int().min(1).max(1_000_000_000).optional(),
    pricing: z.strictObject(prices).optional().describe('USD per million units. Default: the catalogue’s.'),
    capabilities: z.array(z.string().min(1).max(40)).max(40).optional(),
    quantization: z
      .enum(['int4', 'int8', 'fp4', 'mxfp4', 'nvfp4', 'fp6', 'fp8', 'mxfp8', 'fp16', 'bf16', 'fp32'])
      .optional()
      .describe('Of its weights. Left out: unknown.'),
  })
  .meta({ id: 'EndpointModel' })

const headerName = z
  .string()
  .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/, 'must be the name of an HTTP header')
  .refine(
    (name) =>
      !/^(host|connection|content-length|content-type|transfer-encoding|te|trailer|upgrade|expect|keep-alive|accept-encoding|proxy-.*)$/i.test(
        name,
      ),
    'is a header that the connection itself sets',
  )
const headerValue = z.string().regex(/^[\x20-\x7e]{0,4096}$/, 'must be visible ASCII')

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
  shape: shape.describe('The wire shape that the provider speaks.'),
  base_url: z
    .string()
    .trim()
    .max(2_048)
    .describe(
      'With the version segment for the OpenAI shapes (…/v1) and Gemini (…/v1beta); without for Anthropic and Ollama.',
    ),
  api_key: z
    .string()
    .trim()
    .regex(/^[\x21-\x7e]{1,4096}$/, 'must be visible ASCII without spaces')
    .nullable()
    .describe(
      'Never shown again. Null takes it away. Of several parts for `bedrock`: `<access key id>:<secret>[:<session token>]`, or a Bedrock API key; for `vertex`: a service account’s key file in base64, or an access token.',
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
    models_count: z.int().nullable(),
    error: z.string().nullable(),
  })
  .meta({ id: 'ProviderEndpointTest' })

export const Provider = z
  .object({
    id: idOut,
    created_at: time,
    slug: z.string(),
    name: z.string(),
    shape,
    billing: z.enum(['byok', 'credits', 'free']),
    source: z.enum(['account', 'workspace', 'instance', 'environment', 'discovered', 'simulated']),
    workspace_id: idOut.nullable(),
    endpoint_id: idOut.nullable().describe('The provider endpoint behind it, if it is one that you may know.'),
    models_count: z.int().describe('How many of its models this caller can call.'),
    status: z
      .enum(['available', 'degraded', 'set_aside'])
      .describe(
        'As the server process that answers has seen it: `set_aside`: all that was called there failed lately, so it is asked last; `degraded`: some of its models.',
      ),
    status_reason: z.string().nullable(),
    set_aside_until: time.nullable(),
  })
  .meta({ id: 'Provider' })

export const GatewayUsage = z
  .object({
    id: idOut,
    created_at: time,
    whose: z.enum(['account', 'workspace', 'instance']).describe('Whose calls these are.'),
    workspace_id: idOut.nullable(),
    from: day,
    to: day,
    total: z.object(callSums),
    by_model: z.array(z.object({ model: z.string(), ...callSums })),
    by_provider: z.array(z.object({ provider: z.string(), ...callSums })),
    by_key: z.array(
      z.object({
        key_id: idOut.nullable().describe('Null: calls of a session or of the server.'),
        name: z.string().nullable(),
        ...callSums,
      }),
    ),
    by_day: z.array(z.object({ day, ...callSums })).describe('Newest first; days without calls are left out.'),
    by_surface: z.array(z.object({ surface: z.string(), ...callSums })),
    by_billing: z.array(z.object({ billing: z.enum(['byok', 'credits', 'free']), ...callSums })),
    by_member: z
      .array(z.object({ user_id: idOut, name: z.string().nullable(), ...callSums }))
      .describe('Who made them.'),
    series: z
      .array(z.object({ day, name: z.string().nullable(), ...callSums }))
      .describe('By day and what `series` asks for: what a stacked chart shows.'),
    applied_filters: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'GatewayUsage' })

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
          .describe('Of the catalogue, such as `openai/gpt-5`. One that it does not know is added.'),
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
      query: { slug: z.string().max(300) },
      reply: deleted,
      errors: ['insufficient_role'],
      beyond: true,
    }),
  },
)

const preferences = z
  .record(z.string().max(64), z.unknown())
  .describe(
    'OpenRouter’s provider preferences: order, only, ignore, allow_fallbacks, require_parameters, data_collection, zdr, quantizations, sort, max_price, preferred_min_throughput, preferred_max_latency.',
  )
export const RoutingPreview = z
  .object({
    id: idOut.describe('Of the model.'),
    created_at: time,
    model: z.string(),
    seed: z.int().describe('Send it as `x-uk-seed`, and a call draws this order.'),
    candidates: z
      .array(
        z.object({
          provider: z.string(),
          endpoint_id: idOut.nullable().describe('The provider endpoint behind it, if it is one that you may know.'),
          model: z.string().describe('The platform id of what would serve.'),
          upstream_model: z.string(),
          billing: z.enum(['byok', 'credits', 'free']),
          weight: z.number().describe('Its share of the calls of its rank, 0 to 1.'),
          reason: z.string(),
          price: z
            .object({ input: usd, output: usd, request: usd.nullable() })
            .nullable()
            .describe('USD per million tokens, and per request. Null: in no source.'),
          max_cost_usd: usd
            .nullable()
            .describe('The most that one answer costs there, with `input_tokens` or a full context. Null: not known.'),
        }),
      )
      .describe('In the order in which they would be asked, until one begins to answer.'),
    excluded: z.array(z.object({ provider: z.string(), reason: z.string() })),
  })
  .meta({ id: 'RoutingPreview' })

const modelName = z.string().trim().min(1).max(300)
const at = '/ai-gateway/provider-endpoints'
export const aiGateway = area(
  'ai_gateway',
  { title: 'AI gateway', summary: 'Who serves models: your own providers and those of the instance.' },
  {
    providers: endpoint('GET /ai-gateway/providers', {
      summary: 'List the providers that serve your calls now',
      description: 'In the order of their slugs.',
      scope: 'gateway:read',
      reply: page(Provider),
    }),
    usage: endpoint('GET /ai-gateway/usage', {
      summary: 'What model calls used and cost, by model, provider, key and day',
      description:
        'Your own calls. With `workspace_id` those in that workspace: of everybody for its admins, your own for others. With `instance` those of everybody here, for the administrator. The dearest first; without `from` the last 30 days. Counts a call as soon as it is settled.',
      scope: 'gateway:read',
      query: {
        from: day.optional(),
        to: day.optional().describe('Included. Default: today.'),
        workspace_id: id.optional(),
        instance: flag.optional(),
        model: z.string().max(512).optional(),
        provider: z.string().max(64).optional(),
        key_id: id.optional(),
        surface: z.string().max(64).optional().describe('`compat-a`, `inference`, `chat`, …'),
        billing: z.enum(['byok', 'credits', 'free']).optional(),
        series: z.enum(['model', 'provider', 'key']).default('model').describe('What each day is divided by.'),
        limit: z.coerce.number().int().min(1).max(1_000).default(100).describe('Entries of each breakdown at most.'),
      },
      reply: one(GatewayUsage),
      errors: ['insufficient_role'],
    }),
    routing_preview: endpoint('POST /ai-gateway/routing-preview', {
      summary: 'Show who would be asked for a model, in which order, and what it would cost at most',
      description:
        'The router of live calls, with the same seed the same order; nothing is sent and nothing is spent. It looks at a conversation that no provider holds in its cache.',
      scope: 'gateway:read',
      limit: 'reads',
      body: {
        model: modelName.describe('With the suffixes of compat-c: `:floor`, `:nitro`, `:exacto`, `:free`, `:online`.'),
        models: z.array(modelName).max(31).default([]).describe('Further models, tried after it.'),
        shape: shape.default('openai-chat').describe('The wire shape that the call would come in.'),
        provider: preferences.nullable().default(null),
        max_tokens: z.int().min(0).max(1_000_000_000).nullable().default(null),
        input_tokens: z.int().min(0).max(1_000_000_000).nullable().default(null),
        tools: z.boolean().default(false).describe('The call offers tools.'),
        images: z.boolean().default(false).describe('The call holds images.'),
        parameters: z
          .array(z.string().min(1).max(64))
          .max(100)
          .default([])
          .describe('Names of the call’s parameters, for `require_parameters`.'),
        seed: z.int().min(0).max(4_294_967_295).nullable().default(null),
      },
      reply: one(RoutingPreview),
    }),
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
        'Without `workspace_id` and `instance` it is your own. A workspace’s needs the role admin there. A key of one workspace adds to that one.',
      scope: 'gateway:write',
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
      },
      reply: one(ProviderEndpoint),
      status: 201,
      errors: ['already_exists', 'limit_reached', 'insufficient_role', 'policy_denied', 'missing_parameter'],
    }),
    update: endpoint(`PATCH ${at}/:id`, {
      summary: 'Change a provider endpoint',
      description: 'A `base_url` with another origin needs `api_key` again, and `headers` if there are some.',
      scope: 'gateway:write',
      on: 'provider_endpoint',
      role: 'admin',
      body: z.object(fields).partial().shape,
      reply: one(ProviderEndpoint),
      errors: ['already_exists', 'policy_denied'],
    }),
    delete: endpoint(`DELETE ${at}/:id`, {
      summary: 'Delete a provider endpoint and its key',
      scope: 'gateway:write',
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
  },
)
