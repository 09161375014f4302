import { z } from 'zod'
import { day, endpoint, flag, id, idOut, one, time } from '#core/contract.ts'
import { callSums } from '#core/usage.ts'

export const GatewayUsage = z
  .object({
    id: idOut,
    created_at: time,
    whose: z.enum(['account', 'workspace', 'instance']).describe('Whose calls these are.'),
    workspace_id: idOut.nullable(),
    from: day,
    to: day,
    total: z.object(callSums),
    by_model: z.array(z.object({ model: z.string(), ...callSums })),
    by_provider: z.array(z.object({ provider: z.string(), ...callSums })),
    by_key: z.array(
      z.object({
        key_id: idOut.nullable().describe('Null: calls of a session or of the server.'),
        name: z.string().nullable(),
        ...callSums,
      }),
    ),
    by_day: z.array(z.object({ day, ...callSums })).describe('Newest first; days without calls are left out.'),
    by_surface: z.array(z.object({ surface: z.string(), ...callSums })),
    by_billing: z.array(z.object({ billing: z.enum(['byok', 'credits', 'free']), ...callSums })),
    by_member: z
      .array(z.object({ user_id: idOut, name: z.string().nullable(), ...callSums }))
      .describe('Who made them.'),
    series: z
      .array(z.object({ day, name: z.string().nullable(), ...callSums }))
      .describe('By day and what `series` asks for: what a stacked chart shows.'),
    applied_filters: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'GatewayUsage' })

export const usageEndpoints = {
  usage: endpoint('GET /ai-gateway/usage', {
    summary: 'What model calls used and cost, by model, provider, key and day',
    description:
      'Your own calls. With `workspace_id` those in that workspace: of everybody for its admins, your own for others. With `instance` those of everybody here, for the administrator. The dearest first; without `from` the last 30 days. Counts a call as soon as it is settled.',
    scope: 'gateway:read',
    query: {
      from: day.optional(),
      to: day.optional().describe('Included. Default: today.'),
      workspace_id: id.optional(),
      instance: flag.optional(),
      model: z.string().max(512).optional(),
      provider: z.string().max(64).optional(),
      key_id: id.optional(),
      surface: z.string().max(64).optional().describe('`compat-a`, `inference`, `chat`, …'),
      billing: z.enum(['byok', 'credits', 'free']).optional(),
      series: z.enum(['model', 'provider', 'key']).default('model').describe('What each day is divided by.'),
      limit: z.coerce.number().int().min(1).max(1_000).default(100).describe('Entries of each breakdown at most.'),
    },
    reply: one(GatewayUsage),
    errors: ['insufficient_role'],
  }),
}
