import { z } from 'zod'
import { endpoint, id, idOut, one, time, usd } from '#core/contract.ts'
import { textShape } from './contract-endpoints.ts'

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
          computer_id: idOut.nullable().describe('The computer that would answer, where it is a local model.'),
          model: z.string().describe('The platform id of what would serve.'),
          upstream_model: z.string(),
          billing: z.enum(['byok', 'credits', 'free']),
          weight: z.number().describe('Its share of the calls of its rank, 0 to 1.'),
          reason: z.string(),
          price: z
            .object({
              input: usd,
              output: usd,
              request: usd.nullable(),
              unit: usd
                .nullable()
                .describe(
                  'Of a model of media: USD per million pictures, seconds or characters. Null: it charges tokens.',
                ),
            })
            .nullable()
            .describe('USD per million tokens, and per request. Null: in no source.'),
          max_cost_usd: usd
            .nullable()
            .describe(
              'The most that one answer costs there, with `input_tokens` or a full context. Null: not known, as of a model of media, where it hangs on the request.',
            ),
        }),
      )
      .describe('In the order in which they would be asked, until one begins to answer.'),
    excluded: z
      .array(z.object({ provider: z.string(), reason: z.string() }))
      .describe('Who is left out and why; of a rule, whose it is: the key’s, the member’s or the workspace’s.'),
  })
  .meta({ id: 'RoutingPreview' })

const modelName = z.string().trim().min(1).max(300)

export const routingEndpoints = {
  routing_preview: endpoint('POST /ai-gateway/routing-preview', {
    summary: 'Show who would be asked for a model, in which order, and what it would cost at most',
    description:
      'The router of live calls, with the same seed the same order; nothing is sent and nothing is spent. It looks at a conversation that no provider holds in its cache.',
    scope: 'gateway:read',
    within: 'workspace_id',
    limit: 'reads',
    body: {
      model: modelName.describe('With the suffixes of compat-c: `:floor`, `:nitro`, `:exacto`, `:free`, `:online`.'),
      models: z.array(modelName).max(31).default([]).describe('Further models, tried after it.'),
      shape: textShape.default('openai-chat').describe('The wire shape that the call would come in.'),
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
      workspace_id: id
        .optional()
        .describe(
          'Where the call would be made: its budgets and rules hold. Default: where the credential works, the personal one for a session.',
        ),
    },
    reply: one(RoutingPreview),
  }),
}
