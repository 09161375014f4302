import { z } from 'zod'
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
    endpoint_id: idOut.nullable().describe('The provider endpoint behind it, if it is one that you may know.'),
    ...standing,
    serving: z
      .boolean()
      .describe('False: it is failing, or its computer is away; only where nobody else is left it is asked.'),
    set_aside_until: time
      .nullable()
      .describe(
        'All that was called there in the last minutes failed, as the server process that answers has seen it: until then it is asked last. `status_reason` says why; it does too where only some of its models failed.',
      ),
  })
  .meta({ id: 'Provider' })

export const aiGateway = area(
  'ai_gateway',
  { title: 'AI gateway', summary: 'Who serves models: your own providers and those of the instance.' },
  {
    providers: endpoint('GET /ai-gateway/providers', {
      summary: 'List the providers of your calls, and whether each serves now',
      description: 'In the order of their slugs.',
      scope: 'gateway:read',
      reply: page(Provider),
    }),
    ...usageEndpoints,
    ...requestEndpoints,
    ...routingEndpoints,
    ...providerEndpoints,
  },
)
