import { z } from 'zod'
import { byScope } from '#core/access.ts'
import { day, endpoint, flag, id, idOut, one, time } from '#core/contract.ts'
import { callSums } from '#core/usage.ts'

export const GatewayUsage = z
  .object({
    id: idOut,
    created_at: time,
    whose: z.enum(['account', 'workspace', 'instance']).describe('The account that made the calls.'),
    workspace_id: idOut.nullable(),
    from: day,
    to: day,
    total: z.object(callSums),
    by_model: z.array(z.object({ model: z.string(), ...callSums })),
    by_provider: z.array(z.object({ provider: z.string(), ...callSums })),
    by_key: z.array(
      z.object({
        key_id: idOut.nullable().describe('Null: calls made in a session or by the server.'),
        name: z.string().nullable(),
        ...callSums,
      }),
    ),
    by_day: z.array(z.object({ day, ...callSums })).describe('Newest first, without days that have no calls.'),
    by_surface: z.array(z.object({ surface: z.string(), ...callSums })),
    by_billing: z.array(z.object({ billing: z.enum(['byok', 'credits', 'free']), ...callSums })),
    by_member: z
      .array(z.object({ user_id: idOut, name: z.string().nullable(), ...callSums }))
      .describe('The accounts that made the calls.'),
    series: z
      .array(z.object({ day, name: z.string().nullable(), ...callSums }))
      .describe('By day and by the dimension in `series`, for a stacked chart.'),
    applied_filters: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'GatewayUsage' })

export const usageEndpoints = {
  usage: endpoint('GET /ai-gateway/usage', {
    summary: 'Get usage and cost by model, provider, key and day',
    description:
      'Your own calls. With `workspace_id`, calls in that workspace: all of them for its admins, your own otherwise. With `instance`, all calls of the instance, for administrators. Sorted by cost, highest first. Default: the last 30 days. Calls are included as soon as they’re settled.',
    access: byScope('gateway:read'),
    query: {
      from: day.optional(),
      to: day.optional().describe('Inclusive. Default: today.'),
      workspace_id: id.optional(),
      instance: flag.optional(),
      model: z.string().max(512).optional(),
      provider: z.string().max(64).optional(),
      key_id: id.optional(),
      surface: z.string().max(64).optional().describe('`compat-a`, `inference`, `chat`, …'),
      billing: z.enum(['byok', 'credits', 'free']).optional(),
      series: z.enum(['model', 'provider', 'key']).default('model').describe('How to break down each day.'),
      limit: z.coerce
        .number()
        .int()
        .min(1)
        .max(1_000)
        .default(100)
        .describe('Maximum number of entries per breakdown.'),
    },
    reply: one(GatewayUsage),
    errors: ['insufficient_role'],
  }),
}
