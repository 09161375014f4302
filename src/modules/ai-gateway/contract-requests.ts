import { z } from 'zod'
import { byScope } from '#core/access.ts'
import { bytes, day, endpoint, flag, id, idOut, one, page, time, usd } from '#core/contract.ts'
import { usageSchema } from '#core/usage.ts'

const status = z.enum(['succeeded', 'failed', 'cancelled'])

export const LoggedRequest = z
  .object({
    id: idOut.describe('The `x-request-id` of the response.'),
    created_at: time,
    user_id: idOut,
    workspace_id: idOut,
    key_id: idOut.nullable().describe('Null: made in a session or by the server.'),
    key_name: z.string().nullable(),
    chat_id: idOut.nullable(),
    run_id: idOut.nullable(),
    surface: z.string().describe('`compat-a`, `inference`, `chat`, …'),
    path: z
      .string()
      .nullable()
      .describe('The path without its query. Null: made by the server itself, such as for a run.'),
    asked_model: z
      .string()
      .nullable()
      .describe('The requested model. Null: the request was rejected before it was read.'),
    model: z.string().nullable().describe('The model that responded, or the last one tried. Null: none was tried.'),
    provider: z.string().nullable(),
    status,
    http_status: z.int().nullable().describe('Null: there was no successful response.'),
    error_code: z.string().nullable(),
    streamed: z.boolean(),
    duration_ms: z.int(),
    first_token_ms: z.int().nullable(),
    total_tokens: z.int().nullable().describe('Null: nothing was metered.'),
    cost_usd: usd
      .nullable()
      .describe('The cost of all attempts. Null: nothing was metered, or the model has no price.'),
  })
  .meta({ id: 'LoggedRequest' })

export const RequestTrace = LoggedRequest.extend({
  request_bytes: z.int().nullable(),
  error_message: z
    .string()
    .nullable()
    .describe('Only for your own requests, because a provider’s error can repeat the prompt.'),
  losses: z.array(z.string()).describe('Fields that were lost in translation.'),
  tried: z
    .array(
      z.object({
        call_id: idOut,
        provider: z.string(),
        model: z.string(),
        why: z.string().describe('Why the provider was in this position. Empty: it was the only option.'),
        outcome: z.enum(['answered', 'failed', 'refused', 'left']),
        status: z.int().nullable().describe('The provider’s HTTP status, if it failed with one.'),
        message: z.string().nullable().describe('Only for your own requests.'),
        duration_ms: z.int(),
        cost_usd: usd.nullable(),
      }),
    )
    .describe('In the order tried.'),
  usage: usageSchema.nullable(),
  billing: z.enum(['byok', 'credits', 'free']).nullable(),
  charged_usd: usd.nullable(),
  cost_source: z.enum(['reported', 'computed', 'estimated', 'free']).nullable(),
  finish_reason: z.string().nullable(),
}).meta({ id: 'RequestTrace' })

const filters = {
  workspace_id: id.optional().describe('Requests in this workspace: all of them for its owner, your own otherwise.'),
  instance: flag.optional().describe('All requests of the instance. Requires an administrator.'),
  key_id: id.optional(),
  model: z.string().max(512).optional().describe('The requested model, or the one that responded.'),
  provider: z.string().max(64).optional(),
  from: day.optional().describe('On or after this UTC date.'),
  to: day.optional().describe('Up to and including this UTC date.'),
}

export const requestEndpoints = {
  requests: endpoint('GET /app/requests', {
    summary: 'List model requests and their results',
    description:
      'Your own requests, newest first, including rejected ones. Prompts and responses aren’t included. Kept for `UK_REQUEST_RETENTION_DAYS`. Media jobs are operations and are listed in `GET /v1/me/usage`.',
    access: byScope('gateway:read'),
    query: { ...filters, status: status.optional(), error_code: z.string().max(64).optional() },
    reply: page(LoggedRequest),
    errors: ['insufficient_role'],
    beyond: true,
  }),
  request: endpoint('GET /app/requests/:id', {
    summary: 'Get a model request and its result',
    description:
      'Identified by its `x-request-id`, or by the ID of a metered call. You can read your own requests, those in workspaces you own, and, as an administrator, all.',
    access: byScope('gateway:read'),
    reply: one(RequestTrace),
    beyond: true,
  }),
  usage_export: endpoint('GET /app/usage-export', {
    summary: 'Export metered calls as CSV',
    description:
      'Newest first, up to 100,000 rows. Access follows the rules of `GET /v1/ai-gateway/usage`. Values that a spreadsheet would treat as a formula are prefixed with an apostrophe.',
    access: byScope('gateway:read'),
    query: {
      ...filters,
      workspace_id: id.optional().describe('All calls in the workspace for its admins, your own otherwise.'),
      surface: z.string().max(64).optional(),
      billing: z.enum(['byok', 'credits', 'free']).optional(),
    },
    reply: bytes,
    errors: ['insufficient_role'],
    beyond: true,
  }),
}
