import { z } from 'zod'
import { byScope, inWorkspace, resource } from '#core/access.ts'
import { area, base, deleted, endpoint, idOut, one, page, time, words, workspaceId } from '#core/contract.ts'

const name = words(120).pipe(z.string().trim().min(1))
const url = z.url({ protocol: /^https?$/ }).max(2_048)
const events = z
  .array(z.string().max(64))
  .min(1)
  .max(200)
  .describe('Event types such as `run.failed`, all types of a kind such as `chat.*`, or `*`.')
const status = z.enum(['enabled', 'disabled'])

export const WebhookEndpoint = z
  .object({
    ...base,
    workspace_id: idOut,
    name: z.string(),
    url: z.string(),
    events: z.array(z.string()),
    status,
    disabled_reason: z
      .enum(['manual', 'failing', 'gone', 'rights_lost', 'account_recovered'])
      .nullable()
      .describe(
        '`gone`: the URL returned 410. `rights_lost`: its owner is no longer an admin; the admin who enables it becomes the owner. `account_recovered`: the endpoint was created before the account’s email address was confirmed by its recovery.',
      ),
    disabled_at: time.nullable(),
    failing_since: time
      .nullable()
      .describe('Since when every attempt has failed. After 3 days, the endpoint is disabled.'),
    last_success_at: time.nullable(),
    secret_rotation_ends_at: time
      .nullable()
      .describe('Until then, deliveries are also signed with the previous secret.'),
    created_by: idOut.nullable(),
    secret: z
      .string()
      .nullable()
      .describe('The signing secret, `whsec_…`. It’s shown only once, when it’s created or rotated.'),
  })
  .meta({ id: 'WebhookEndpoint' })

export const WebhookDelivery = z
  .object({
    ...base,
    endpoint_id: idOut,
    message_id: idOut.describe('The `webhook-id` header: the same for every attempt and redelivery.'),
    event_type: z.string(),
    status: z.enum(['waiting', 'succeeded', 'failed', 'cancelled']),
    attempts: z.array(
      z.object({
        at: time,
        duration_ms: z.number().int(),
        response_status: z.number().int().nullable(),
        response_body: z.string().nullable().describe('The first 1,000 characters of the response body.'),
        error: z.string().nullable(),
      }),
    ),
    next_attempt_at: time.nullable(),
    completed_at: time.nullable(),
    redelivery_of: idOut.nullable(),
    payload: z.string().describe('The exact body that was signed and sent.'),
  })
  .meta({ id: 'WebhookDelivery' })

export const webhooks = area(
  'webhooks',
  {
    title: 'Outgoing webhooks',
    summary: 'Events of a workspace sent to your URL, signed according to Standard Webhooks.',
  },
  {
    event_types: endpoint('GET /webhook-endpoints/event-types', {
      summary: 'List the event types',
      access: byScope('workspace:read'),
      reply: page(
        z.object({
          type: z.string(),
          description: z.string(),
          scope: z.string().nullable().describe('The scope required to receive it.'),
        }),
      ),
      beyond: true,
    }),
    list: endpoint('GET /webhook-endpoints', {
      summary: 'List the webhook endpoints of a workspace',
      access: inWorkspace('workspace:read', 'admin'),
      query: { workspace_id: workspaceId },
      reply: page(WebhookEndpoint),
      beyond: true,
    }),
    create: endpoint('POST /webhook-endpoints', {
      summary: 'Create a webhook endpoint',
      example: { name: 'CI', url: 'https://ci.example.com/hook', events: ['run.failed', 'file.*'] },
      description:
        'Every delivery is a POST with `{type, timestamp, id, workspace_id, resource, data}` and the Standard Webhooks headers `webhook-id`, `webhook-timestamp` and `webhook-signature`. Deliveries without a 2xx response within 15 seconds are retried 11 times over one day. Only events you can read are sent, and none after you’re no longer an admin of the workspace.',
      access: inWorkspace('workspace:write', 'admin'),
      consent: 'person',
      body: { workspace_id: workspaceId, name, url, events },
      reply: one(WebhookEndpoint),
      status: 201,
      errors: ['limit_reached'],
      beyond: true,
    }),
    get: endpoint('GET /webhook-endpoints/:id', {
      summary: 'Get a webhook endpoint',
      access: resource('webhook_endpoint', { scope: 'workspace:read', role: 'admin' }),
      beyond: true,
      reply: one(WebhookEndpoint),
    }),
    update: endpoint('PATCH /webhook-endpoints/:id', {
      summary: 'Update, enable or disable a webhook endpoint',
      access: resource('webhook_endpoint', { scope: 'workspace:write', role: 'admin' }),
      beyond: true,
      consent: 'person',
      body: { name: name.optional(), url: url.optional(), events: events.optional(), status: status.optional() },
      reply: one(WebhookEndpoint),
    }),
    delete: endpoint('DELETE /webhook-endpoints/:id', {
      summary: 'Delete a webhook endpoint and its deliveries',
      access: resource('webhook_endpoint', { scope: 'workspace:write', role: 'admin' }),
      beyond: true,
      consent: 'person',
      reply: deleted,
    }),
    rotate_secret: endpoint('POST /webhook-endpoints/:id/rotate-secret', {
      summary: 'Rotate the signing secret',
      access: resource('webhook_endpoint', { scope: 'workspace:write', role: 'admin' }),
      beyond: true,
      consent: 'person',
      body: {
        overlap_seconds: z
          .number()
          .int()
          .min(0)
          .max(604_800)
          .default(86_400)
          .describe(
            'How long deliveries are also signed with the old secret. If you rotate repeatedly, each of the newest 10 keeps the period it was given. 0 drops all old secrets at once.',
          ),
      },
      reply: one(WebhookEndpoint),
    }),
    test: endpoint('POST /webhook-endpoints/:id/test', {
      summary: 'Send a test delivery (`webhook.test`)',
      access: resource('webhook_endpoint', { scope: 'workspace:write', role: 'admin' }),
      beyond: true,
      reply: one(WebhookDelivery),
      errors: ['invalid_state'],
    }),
    deliveries: endpoint('GET /webhook-endpoints/:id/deliveries', {
      summary: 'List the deliveries of a webhook endpoint',
      access: resource('webhook_endpoint', { scope: 'workspace:read', role: 'admin' }),
      beyond: true,
      query: {
        status: WebhookDelivery.shape.status.optional(),
        event_type: z.string().max(64).optional(),
      },
      reply: page(WebhookDelivery),
    }),
    delivery: endpoint('GET /webhook-endpoints/:id/deliveries/:delivery_id', {
      summary: 'Get a delivery',
      access: resource('webhook_endpoint', { scope: 'workspace:read', role: 'admin' }),
      beyond: true,
      reply: one(WebhookDelivery),
    }),
    redeliver: endpoint('POST /webhook-endpoints/:id/deliveries/:delivery_id/redeliver', {
      summary: 'Resend a delivery',
      access: resource('webhook_endpoint', { scope: 'workspace:write', role: 'admin' }),
      beyond: true,
      reply: one(WebhookDelivery),
      status: 201,
      errors: ['invalid_state'],
    }),
  },
)
