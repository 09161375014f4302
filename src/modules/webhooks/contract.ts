import { z } from 'zod'
import { area, base, deleted, endpoint, idOut, one, page, time, words, workspaceId } from '#core/contract.ts'

const name = words(120).pipe(z.string().trim().min(1))
const url = z.url({ protocol: /^https?$/ }).max(2_048)
const events = z
  .array(z.string().max(64))
  .min(1)
  .max(200)
  .describe('Types such as `run.failed`, all of a kind such as `chat.*`, or `*`.')
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
        '`gone`: it answered 410. `rights_lost`: who answers for it is no longer an admin here; who switches it on, does. `account_recovered`: the address of that account was confirmed by its recovery, and this was made before.',
      ),
    disabled_at: time.nullable(),
    failing_since: time.nullable().describe('Since when every attempt failed. After three days it is disabled.'),
    last_success_at: time.nullable(),
    secret_rotation_ends_at: time.nullable().describe('Until then it is signed with the secret before, too.'),
    created_by: idOut.nullable(),
    secret: z
      .string()
      .nullable()
      .describe('`whsec_…`: what the signatures are made with. Shown once, when it is made or rotated.'),
  })
  .meta({ id: 'WebhookEndpoint' })

export const WebhookDelivery = z
  .object({
    ...base,
    endpoint_id: idOut,
    message_id: idOut.describe('`webhook-id`: the same in every attempt and redelivery.'),
    event_type: z.string(),
    status: z.enum(['waiting', 'succeeded', 'failed', 'cancelled']),
    attempts: z.array(
      z.object({
        at: time,
        duration_ms: z.number().int(),
        response_status: z.number().int().nullable(),
        response_body: z.string().nullable().describe('Its first 1,000 characters.'),
        error: z.string().nullable(),
      }),
    ),
    next_attempt_at: time.nullable(),
    completed_at: time.nullable(),
    redelivery_of: idOut.nullable(),
    payload: z.string().describe('The body that was signed and sent, byte for byte.'),
  })
  .meta({ id: 'WebhookDelivery' })

const on = { on: 'webhook_endpoint', role: 'admin', beyond: true } as const
const reading = { ...on, scope: 'workspace:read' } as const
const writing = { ...on, scope: 'workspace:write' } as const

export const webhooks = area(
  'webhooks',
  {
    title: 'Outgoing webhooks',
    summary: 'Events of a workspace sent to an address of yours, signed after Standard Webhooks.',
  },
  {
    event_types: endpoint('GET /webhook-endpoints/event-types', {
      summary: 'List the types of events that can be sent',
      scope: 'workspace:read',
      reply: page(
        z.object({
          type: z.string(),
          description: z.string(),
          scope: z.string().nullable().describe('What one must be allowed to hear of it.'),
        }),
      ),
      beyond: true,
    }),
    list: endpoint('GET /webhook-endpoints', {
      summary: 'List the endpoints of a workspace',
      scope: 'workspace:read',
      role: 'admin',
      within: 'workspace_id',
      query: { workspace_id: workspaceId },
      reply: page(WebhookEndpoint),
      beyond: true,
    }),
    create: endpoint('POST /webhook-endpoints', {
      summary: 'Have events of a workspace sent to an address',
      example: { name: 'CI', url: 'https://ci.example.com/hook', events: ['run.failed', 'file.*'] },
      description:
        'Every delivery is a POST with `{type, timestamp, id, workspace_id, resource, data}` and the headers `webhook-id`, `webhook-timestamp` and `webhook-signature` of Standard Webhooks. What is not answered with 2xx within 15 seconds is sent again, eleven times over a day. Only events that you may read yourself are sent, and none once you are no longer an admin here.',
      scope: 'workspace:write',
      consent: 'person',
      role: 'admin',
      within: 'workspace_id',
      body: { workspace_id: workspaceId, name, url, events },
      reply: one(WebhookEndpoint),
      status: 201,
      errors: ['limit_reached'],
      beyond: true,
    }),
    get: endpoint('GET /webhook-endpoints/:id', {
      summary: 'Get an endpoint',
      ...reading,
      reply: one(WebhookEndpoint),
    }),
    update: endpoint('PATCH /webhook-endpoints/:id', {
      summary: 'Change an endpoint, or switch it on or off',
      ...writing,
      consent: 'person',
      body: { name: name.optional(), url: url.optional(), events: events.optional(), status: status.optional() },
      reply: one(WebhookEndpoint),
    }),
    delete: endpoint('DELETE /webhook-endpoints/:id', {
      summary: 'Delete an endpoint with its deliveries',
      ...writing,
      consent: 'person',
      reply: deleted,
    }),
    rotate_secret: endpoint('POST /webhook-endpoints/:id/rotate-secret', {
      summary: 'Make another secret',
      ...writing,
      consent: 'person',
      body: {
        overlap_seconds: z
          .number()
          .int()
          .min(0)
          .max(604_800)
          .default(86_400)
          .describe(
            'For so long deliveries carry a signature of the old one as well; of several each for as long as it was promised, the newest 10. 0 ends them all.',
          ),
      },
      reply: one(WebhookEndpoint),
    }),
    test: endpoint('POST /webhook-endpoints/:id/test', {
      summary: 'Send a delivery of the type `webhook.test`',
      ...writing,
      reply: one(WebhookDelivery),
      errors: ['invalid_state'],
    }),
    deliveries: endpoint('GET /webhook-endpoints/:id/deliveries', {
      summary: 'List what was sent, and what became of it',
      ...reading,
      query: {
        status: WebhookDelivery.shape.status.optional(),
        event_type: z.string().max(64).optional(),
      },
      reply: page(WebhookDelivery),
    }),
    delivery: endpoint('GET /webhook-endpoints/:id/deliveries/:delivery_id', {
      summary: 'Get a delivery',
      ...reading,
      reply: one(WebhookDelivery),
    }),
    redeliver: endpoint('POST /webhook-endpoints/:id/deliveries/:delivery_id/redeliver', {
      summary: 'Send a delivery again',
      ...writing,
      reply: one(WebhookDelivery),
      status: 201,
      errors: ['invalid_state'],
    }),
  },
)
