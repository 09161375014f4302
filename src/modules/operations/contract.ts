import { z } from 'zod'
import { area, base, bytes, endpoint, one, page, time, usd } from '#core/contract.ts'

export const operationStatus = z.enum(['queued', 'running', 'succeeded', 'failed', 'cancelled', 'expired'])

export const Operation = z
  .object({
    ...base,
    kind: z.string().describe('What is being done, such as `inference.text`.'),
    status: operationStatus,
    progress: z.number().min(0).max(1).nullable().describe('Null where it cannot be told.'),
    result: z.unknown().describe('What the call would have answered; null until it succeeded.'),
    error: z
      .object({
        type: z.string(),
        message: z.string(),
        code: z.string().optional(),
        param: z.string().optional(),
        details: z.record(z.string(), z.unknown()).optional(),
      })
      .nullable()
      .describe('The error object, when it failed.'),
    resource: z.object({ type: z.string(), id: z.string() }).nullable().describe('What it works on or made.'),
    cost_usd: usd.nullable(),
    cancel_requested_at: time.nullable(),
    started_at: time.nullable(),
    completed_at: time.nullable(),
    expires_at: time.nullable().describe('When it ends as `expired` if it is not finished by then.'),
  })
  .meta({ id: 'Operation' })

export const operations = area(
  'operations',
  {
    title: 'Operations',
    summary: 'Work that goes on in the background: `queued → running → succeeded | failed | cancelled | expired`.',
  },
  {
    list: endpoint('GET /operations', {
      summary: 'List recent operations',
      scope: 'operation:read',
      query: {
        status: operationStatus.optional().describe('Only those. Default: all.'),
        kind: z.string().max(100).optional().describe('Only those of this kind.'),
      },
      reply: page(Operation),
    }),
    get: endpoint('GET /operations/:id', {
      summary: 'Get the status and the result of an operation',
      scope: 'operation:read',
      on: 'operation',
      reply: one(Operation),
    }),
    await: endpoint('GET /operations/:id/await', {
      summary: 'Wait briefly for a transition or the end of an operation',
      description:
        'Answers as soon as the status is another than `since_status`, at once when the operation has ended, and at the latest after `timeout_seconds`. A timeout is not an error: the answer is the present state.',
      scope: 'operation:read',
      on: 'operation',
      query: {
        since_status: operationStatus
          .optional()
          .describe('The status that the caller knows. Default: the present one.'),
        timeout_seconds: z.coerce.number().min(0).max(60).default(25).describe('How long to wait at most.'),
      },
      reply: one(Operation),
    }),
    cancel: endpoint('POST /operations/:id/cancel', {
      summary: 'Cancel an operation',
      description:
        'A queued operation is cancelled at once; a running one is asked to stop, and has ended within 10 seconds. Cancelling twice changes nothing.',
      scope: 'operation:write',
      on: 'operation',
      inArchivedWorkspace: true,
      reply: one(Operation),
      errors: ['invalid_state'],
    }),
    content: endpoint('GET /operations/:id/content', {
      summary: 'Get the output of an operation that succeeded',
      description:
        'A redirect (302) to the file that it made, or its text with its type; without either, its `result` as JSON. Of a command on a computer the output so far, also while it runs.',
      scope: 'operation:read',
      on: 'operation',
      reply: bytes,
      errors: ['not_ready', 'invalid_state', 'content_expired'],
    }),
  },
)
