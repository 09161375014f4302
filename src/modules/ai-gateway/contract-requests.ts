import { z } from 'zod'
import { bytes, day, endpoint, flag, id, idOut, one, page, time, usd } from '#core/contract.ts'
import { usageSchema } from '#core/usage.ts'

const status = z.enum(['succeeded', 'failed', 'cancelled'])

export const LoggedRequest = z
  .object({
    id: idOut.describe('The `x-request-id` of the answer.'),
    created_at: time,
    user_id: idOut,
    workspace_id: idOut,
    key_id: idOut.nullable().describe('Null: of a session or of the server.'),
    key_name: z.string().nullable(),
    chat_id: idOut.nullable(),
    run_id: idOut.nullable(),
    surface: z.string().describe('`compat-a`, `inference`, `chat`, …'),
    path: z.string().nullable().describe('Without its query. Null: the server itself asked, as a run does.'),
    asked_model: z.string().nullable().describe('As it was named; null: it was refused before that was read.'),
    model: z.string().nullable().describe('What answered, or was asked last. Null: nobody was asked.'),
    provider: z.string().nullable(),
    status,
    http_status: z.int().nullable().describe('Null: nobody was answered.'),
    error_code: z.string().nullable(),
    streamed: z.boolean(),
    duration_ms: z.int(),
    first_token_ms: z.int().nullable(),
    total_tokens: z.int().nullable().describe('Null: nothing was metered.'),
    cost_usd: usd.nullable().describe('Of all that were tried. Null: nothing was metered, or the model has no price.'),
  })
  .meta({ id: 'LoggedRequest' })

export const RequestTrace = LoggedRequest.extend({
  request_bytes: z.int().nullable(),
  error_message: z.string().nullable().describe('Only of your own: a provider may repeat what was said.'),
  losses: z.array(z.string()).describe('Fields that a translation could not carry.'),
  tried: z
    .array(
      z.object({
        call_id: idOut,
        provider: z.string(),
        model: z.string(),
        why: z.string().describe('Why it stood at this place. Empty: nobody else could serve.'),
        outcome: z.enum(['answered', 'failed', 'refused', 'left']),
        status: z.int().nullable().describe('The provider’s HTTP status, where it failed with one.'),
        message: z.string().nullable().describe('Only of your own.'),
        duration_ms: z.int(),
        cost_usd: usd.nullable(),
      }),
    )
    .describe('In the order in which they were asked.'),
  usage: usageSchema.nullable(),
  billing: z.enum(['byok', 'credits', 'free']).nullable(),
  charged_usd: usd.nullable(),
  cost_source: z.enum(['reported', 'computed', 'estimated', 'free']).nullable(),
  finish_reason: z.string().nullable(),
}).meta({ id: 'RequestTrace' })

const filters = {
  workspace_id: id.optional().describe('Calls in this workspace: of everybody for its owner, your own for others.'),
  instance: flag.optional().describe('Of everybody here; for the administrator.'),
  key_id: id.optional(),
  model: z.string().max(512).optional().describe('As it was named, or as it answered.'),
  provider: z.string().max(64).optional(),
  from: day.optional().describe('From this UTC day on.'),
  to: day.optional().describe('Up to this UTC day, itself included.'),
}

export const requestEndpoints = {
  requests: endpoint('GET /app/requests', {
    summary: 'List requests to models, and what became of them',
    description:
      'Your own, newest first, refused ones too; never what was said in them. Kept for `UK_REQUEST_RETENTION_DAYS`. Jobs of media are operations and stand in `GET /v1/me/usage`.',
    scope: 'gateway:read',
    query: { ...filters, status: status.optional(), error_code: z.string().max(64).optional() },
    reply: page(LoggedRequest),
    errors: ['insufficient_role'],
    beyond: true,
  }),
  request: endpoint('GET /app/requests/:id', {
    summary: 'What became of a request to a model',
    description:
      'By its `x-request-id`, or by the id of a metered call. Your own, those in a workspace that you own, and for the administrator all.',
    scope: 'gateway:read',
    reply: one(RequestTrace),
    beyond: true,
  }),
  usage_export: endpoint('GET /app/usage-export', {
    summary: 'Metered calls as CSV',
    description:
      'Newest first, at most 100,000 rows; whose they are goes by the rules of `GET /v1/ai-gateway/usage`. What a spreadsheet would take for a formula begins with an apostrophe.',
    scope: 'gateway:read',
    query: {
      ...filters,
      workspace_id: id.optional().describe('Of everybody in it for its admins, your own for others.'),
      surface: z.string().max(64).optional(),
      billing: z.enum(['byok', 'credits', 'free']).optional(),
    },
    reply: bytes,
    errors: ['insufficient_role'],
    beyond: true,
  }),
}
