import { z } from 'zod'
import { time } from '#core/contract.ts'

/** The standing of a provider endpoint, the same wherever it is shown. */
export const standing = {
  status: z
    .enum(['untested', 'working', 'failing', 'needs_key', 'unreadable_key', 'disabled'])
    .describe(
      'As tests and calls have shown, in any server process. `failing`: it is asked last, its models are not listed as available, and it is tested again by itself, less and less often. `needs_key`: its vendor lets nobody in without a key and it has none, so it serves nothing. `unreadable_key`: its key or headers were sealed with a root key that this instance no longer has, and it serves nothing either.',
    ),
  status_reason: z.string().nullable().describe('Null: nothing stands against it.'),
  last_error: z
    .string()
    .nullable()
    .describe('The provider’s own words for those who administer the endpoint, without its secrets; ours for others.'),
  last_error_at: time.nullable(),
  last_success_at: time.nullable().describe('Of a test or a call; of many calls one in a minute is noted.'),
  latency_ms: z.int().nullable().describe('Milliseconds to its answer, at the last success.'),
  models_count: z.int().nullable().describe('Models of every kind that it has; null: it has not said.'),
}
