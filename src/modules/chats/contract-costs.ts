import { z } from 'zod'
import { resource } from '#core/access.ts'
import { base, endpoint, idOut, one, page, time, usd } from '#core/contract.ts'
import { usageSchema } from '#core/usage.ts'

export const Cost = z
  .object({
    id: idOut,
    created_at: time,
    cost_usd: usd.describe(
      'For all runs on all branches and for delegated tasks. Runs of models without a price count as 0.',
    ),
    usage: usageSchema,
    runs: z.number().int(),
    by_model: z.array(
      z.object({
        model: z.string(),
        provider: z.string().nullable(),
        messages: z.number().int(),
        cost_usd: usd,
        usage: usageSchema,
      }),
    ),
  })
  .meta({ id: 'ChatCost' })

export const MessageCost = z
  .object({
    ...base,
    role: z.enum(['system', 'user', 'assistant', 'tool']),
    status: z.string(),
    model: z.string().nullable(),
    provider: z.string().nullable(),
    usage: usageSchema.nullable(),
    cost_usd: usd.nullable(),
    run: z
      .object({
        id: idOut,
        status: z.string(),
        attempt: z.number().int(),
        usage: usageSchema.nullable(),
        cost_usd: usd.nullable(),
      })
      .nullable(),
  })
  .meta({ id: 'MessageCost' })

export const costEndpoints = {
  cost: endpoint('GET /chats/:id/cost', {
    summary: 'Get the cost of a chat, in total and by model',
    access: resource('chat', { scope: 'chat:read' }),
    reply: one(Cost),
  }),
  message_costs: endpoint('GET /chats/:id/message-costs', {
    summary: 'List the cost of each message and its run, oldest first',
    access: resource('chat', { scope: 'chat:read' }),
    reply: page(MessageCost),
  }),
}
