import { z } from 'zod'
import { inWorkspace } from '#core/access.ts'
import { endpoint, id, idOut, one, time, usd } from '#core/contract.ts'
import { textShape } from './contract-endpoints.ts'

const preferences = z
  .record(z.string().max(64), z.unknown())
  .describe(
    'OpenRouter’s provider preferences: order, only, ignore, allow_fallbacks, require_parameters, data_collection, zdr, quantizations, sort, max_price, preferred_min_throughput, preferred_max_latency.',
  )
export const RoutingPreview = z
  .object({
    id: idOut.describe('The model ID.'),
    created_at: time,
    model: z.string(),
    seed: z.int().describe('The random seed. Send it as `x-uk-seed` to get the same order.'),
    candidates: z
      .array(
        z.object({
          provider: z.string(),
          endpoint_id: idOut.nullable().describe('The provider endpoint, if it’s visible to you.'),
          computer_id: idOut.nullable().describe('The computer, for a local model.'),
          model: z.string().describe('The platform ID of the model.'),
          upstream_model: z.string(),
          billing: z.enum(['byok', 'credits', 'free']),
          weight: z.number().describe('Its share of the traffic at its rank, 0 to 1.'),
          reason: z.string(),
          price: z
            .object({
              input: usd,
              output: usd,
              request: usd.nullable(),
              unit: usd
                .nullable()
                .describe(
                  'For media models: USD per million images, seconds or characters. Null: it charges by token.',
                ),
            })
            .nullable()
            .describe('USD per million tokens, and per request. Null: unknown.'),
          max_cost_usd: usd
            .nullable()
            .describe(
              'The maximum cost of a response, with `input_tokens` or a full context. Null: unknown, such as for media models whose price depends on the request.',
            ),
        }),
      )
      .describe('In the order in which they would be tried until one responds.'),
    excluded: z
      .array(z.object({ provider: z.string(), reason: z.string() }))
      .describe(
        'The skipped providers, and why. For a rule, also whether it’s the key’s, the member’s or the workspace’s.',
      ),
  })
  .meta({ id: 'RoutingPreview' })

const modelName = z.string().trim().min(1).max(300)

export const routingEndpoints = {
  routing_preview: endpoint('POST /ai-gateway/routing-preview', {
    summary: 'Preview the routing of a request',
    description:
      'Shows which providers a request would use, in which order, and the maximum cost. Nothing is sent or billed. The result matches a live request with the same seed, for a conversation that no provider has cached.',
    access: inWorkspace('gateway:read'),
    limit: 'reads',
    body: {
      model: modelName.describe(
        'The model, optionally with an OpenRouter suffix: `:floor`, `:nitro`, `:exacto`, `:free`, `:online`.',
      ),
      models: z.array(modelName).max(31).default([]).describe('Fallback models.'),
      shape: textShape.default('openai-chat').describe('The API format of the request.'),
      provider: preferences.nullable().default(null),
      max_tokens: z.int().min(0).max(1_000_000_000).nullable().default(null),
      input_tokens: z.int().min(0).max(1_000_000_000).nullable().default(null),
      tools: z.boolean().default(false).describe('Whether the request uses tools.'),
      images: z.boolean().default(false).describe('Whether the request includes images.'),
      parameters: z
        .array(z.string().min(1).max(64))
        .max(100)
        .default([])
        .describe('The request’s parameter names, for `require_parameters`.'),
      seed: z.int().min(0).max(4_294_967_295).nullable().default(null),
      workspace_id: id
        .optional()
        .describe(
          'The workspace of the request, whose budgets and rules apply. Default: the workspace of the credential; for a session, your personal workspace.',
        ),
    },
    reply: one(RoutingPreview),
  }),
}
