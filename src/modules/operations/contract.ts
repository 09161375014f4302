import { z } from 'zod'
import { byScope, resource } from '#core/access.ts'
import { area, base, bytes, endpoint, one, page, time, usd } from '#core/contract.ts'

export const operationStatus = z.enum(['queued', 'running', 'succeeded', 'failed', 'cancelled', 'expired'])

export const Operation = z
  .object({
    ...base,
    kind: z.string().describe('The kind of work, such as `inference.text`.'),
    status: operationStatus,
    progress: z.number().min(0).max(1).nullable().describe('Null if the progress is unknown.'),
    result: z.unknown().describe('The response the request would have returned. Null until the operation succeeds.'),
    error: z
      .object({
        type: z.string(),
        message: z.string(),
        code: z.string().optional(),
        param: z.string().optional(),
        details: z.record(z.string(), z.unknown()).optional(),
      })
      .nullable()
      .describe('The error object, if the operation failed.'),
    resource: z
      .object({ type: z.string(), id: z.string() })
      .nullable()
      .describe('The resource it works on or created.'),
    cost_usd: usd.nullable(),
    cancel_requested_at: time.nullable(),
    started_at: time.nullable(),
    completed_at: time.nullable(),
    expires_at: time.nullable().describe('If it isn’t finished by then, it ends with the status `expired`.'),
  })
  .meta({ id: 'Operation' })

export const operations = area(
  'operations',
  {
    title: 'Operations',
    summary: 'Background work: `queued → running → succeeded | failed | cancelled | expired`.',
  },
  {
    list: endpoint('GET /operations', {
      summary: 'List recent operations',
      access: byScope('operation:read'),
      query: {
        status: operationStatus.optional().describe('Filters the list by status.'),
        kind: z.string().max(100).optional().describe('Only operations of this kind.'),
      },
      reply: page(Operation),
    }),
    get: endpoint('GET /operations/:id', {
      summary: 'Get the status and result of an operation',
      access: resource('operation', { scope: 'operation:read' }),
      reply: one(Operation),
    }),
    await: endpoint('GET /operations/:id/await', {
      summary: 'Wait for an operation to change its status or finish',
      description:
        'Returns as soon as the status differs from `since_status`, immediately if the operation has finished, and no later than `timeout_seconds`. A timeout isn’t an error: the response is the current state.',
      access: resource('operation', { scope: 'operation:read' }),
      query: {
        since_status: operationStatus
          .optional()
          .describe('The last status the caller knows. Default: the current one.'),
        timeout_seconds: z.coerce.number().min(0).max(60).default(25).describe('How long to wait.'),
      },
      reply: one(Operation),
    }),
    cancel: endpoint('POST /operations/:id/cancel', {
      summary: 'Cancel an operation',
      description:
        'A queued operation is canceled immediately. A running one is asked to stop, and ends within 10 seconds. Canceling it again has no effect.',
      access: resource('operation', { scope: 'operation:write', inArchivedWorkspace: true }),
      reply: one(Operation),
      errors: ['invalid_state'],
    }),
    content: endpoint('GET /operations/:id/content', {
      summary: 'Get the output of an operation',
      description:
        'Redirects (302) to the file it created, or returns its text. Otherwise, returns its `result` as JSON. For a command on a computer, returns the output so far, even while it’s running.',
      access: resource('operation', { scope: 'operation:read' }),
      reply: bytes,
      errors: ['not_ready', 'invalid_state', 'content_expired'],
    }),
  },
)
