import { z } from 'zod'
import { area, endpoint, idOut, page, time } from '#kernel/contract.ts'
import { providerEndpoints, shape } from './contract-endpoints.ts'
import { routingEndpoints } from './contract-routing.ts'
import { usageEndpoints } from './contract-usage.ts'

export const Provider = z
  .object({
    id: idOut,
    created_at: time,
    slug: z.string(),
    name: z.string(),
    shape,
    billing: z.enum(['byok', 'credits', 'free']),
    source: z.enum([
      'account',
      'workspace',
      'instance',
      'environment',
      'discovered',
      'simulated',
      'computer',
      'server',
    ]),
    workspace_id: idOut.nullable(),
    endpoint_id: idOut.nullable().describe('The provider endpoint behind it, if it is one that you may know.'),
    models_count: z.int().describe('How many of its models this caller can call.'),
    status: z
      .enum(['available', 'degraded', 'set_aside'])
      .describe(
        'As the server process that answers has seen it: `set_aside`: all that was called there failed lately, so it is asked last; `degraded`: some of its models.',
      ),
    status_reason: z.string().nullable(),
    set_aside_until: time.nullable(),
  })
  .meta({ id: 'Provider' })

export const aiGateway = area(
  'ai_gateway',
  { title: 'AI gateway', summary: 'Who serves models: your own providers and those of the instance.' },
  {
    providers: endpoint('GET /ai-gateway/providers', {
      summary: 'List the providers that serve your calls now',
      description: 'In the order of their slugs.',
      scope: 'gateway:read',
      reply: page(Provider),
    }),
    ...usageEndpoints,
    ...routingEndpoints,
    ...providerEndpoints,
  },
)
