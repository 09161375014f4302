import { z } from 'zod'
import { byScope } from '#core/access.ts'
import { area, endpoint, idOut, page, time } from '#core/contract.ts'
import { providerEndpoints, shape } from './contract-endpoints.ts'
import { standing } from './contract-standing.ts'
import { routingEndpoints } from './contract-routing.ts'
import { requestEndpoints } from './contract-requests.ts'
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
    endpoint_id: idOut.nullable().describe('The provider endpoint, if it’s visible to you.'),
    ...standing,
    serving: z
      .boolean()
      .describe('False: it’s failing, or its computer is offline. It’s used only if there is no other provider.'),
    set_aside_until: time
      .nullable()
      .describe(
        'The time until which the provider is tried last, because all its recent requests failed, as seen by the responding server process. `status_reason` says why, also if only some of its models failed.',
      ),
  })
  .meta({ id: 'Provider' })

export const aiGateway = area(
  'ai_gateway',
  { title: 'AI gateway', summary: 'Model providers: your own and the instance’s.' },
  {
    providers: endpoint('GET /ai-gateway/providers', {
      summary: 'List your model providers and their status',
      description: 'Sorted by slug.',
      access: byScope('gateway:read'),
      reply: page(Provider),
    }),
    ...usageEndpoints,
    ...requestEndpoints,
    ...routingEndpoints,
    ...providerEndpoints,
  },
)
