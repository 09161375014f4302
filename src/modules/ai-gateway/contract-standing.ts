import { z } from 'zod'
import { time } from '#core/contract.ts'

export const standing = {
  status: z
    .enum(['untested', 'working', 'failing', 'needs_key', 'unreadable_key', 'disabled'])
    .describe(
      'The result of tests and requests, in all server processes. `failing`: it’s tried last, its models aren’t listed as available, and it’s retested automatically at increasing intervals. `needs_key`: the provider requires a key and there is none, so it isn’t used. `unreadable_key`: its key or headers were encrypted with a root key this instance no longer has, so it isn’t used.',
    ),
  status_reason: z.string().nullable().describe('Null: there are no problems.'),
  last_error: z
    .string()
    .nullable()
    .describe(
      'The provider’s error message without secrets, for those who manage the endpoint. Others get a general message.',
    ),
  last_error_at: time.nullable(),
  last_success_at: time.nullable().describe('The last successful test or request, accurate to one minute.'),
  latency_ms: z.int().nullable().describe('Response time in milliseconds at the last success.'),
  models_count: z.int().nullable().describe('The number of its models of all kinds. Null: unknown.'),
}
