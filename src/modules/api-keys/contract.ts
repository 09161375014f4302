import { z } from 'zod'
import {
  allowedModels,
  area,
  base,
  deleted,
  endpoint,
  id,
  idOut,
  one,
  page,
  period,
  time,
  usd,
} from '#core/contract.ts'
import { scopes } from '#core/scopes.ts'

const fields = {
  name: z.string().trim().min(1).max(120),
  scopes: z
    .array(z.enum(['*', ...scopes]))
    .max(scopes.length + 1)
    .describe(
      'What the key may do; `["*"]` is all that the caller may give. `write` implies `read`, and every key has `user:read`.',
    ),
  expires_at: z.iso.datetime().nullable().describe('Null never expires.'),
  spend_cap_usd: z
    .number()
    .min(0)
    .max(1_000_000)
    .nullable()
    .describe('What model calls with this key may cost per period. Null has no cap.'),
  spend_cap_period: period.describe('UTC: day, ISO week, calendar month, or total.'),
  allowed_models: allowedModels,
}

export const ApiKey = z
  .object({
    ...base,
    created_by: idOut.describe('Whose key it is.'),
    name: z.string(),
    prefix: z.string().describe('The first 11 characters.'),
    last4: z.string(),
    scopes: z.array(z.string()),
    workspace_id: idOut.nullable().describe('The only workspace that the key reaches; null reaches all of its owner.'),
    version: z.string(),
    status: z.enum(['active', 'revoked', 'expired']),
    expires_at: time.nullable(),
    revoked_at: time.nullable(),
    last_used_at: time.nullable(),
    spend_cap_usd: usd.nullable(),
    spend_cap_period: period,
    spent_usd: usd.describe('In the present period of the cap.'),
    allowed_models: allowedModels,
  })
  .meta({ id: 'ApiKey' })

export const NewApiKey = ApiKey.extend({ key: z.string().describe('The key itself. Shown this once.') }).meta({
  id: 'NewApiKey',
})

const session = { scope: null, auth: 'session' } as const

export const apiKeys = area(
  'api_keys',
  { title: 'API keys', summary: 'Keys for programs. Managed only by a signed-in person.' },
  {
    list: endpoint('GET /api-keys', {
      summary: 'List API keys',
      description:
        'Your own. With `workspace_id` those that reach only that workspace: of everybody for its admins, your own for others.',
      ...session,
      query: {
        status: z.enum(['active', 'revoked', 'expired']).optional().describe('Only those. Default: all.'),
        workspace_id: id.optional(),
      },
      reply: page(ApiKey),
    }),
    create: endpoint('POST /api-keys', {
      summary: 'Create an API key; the answer shows it once',
      ...session,
      consent: 'person',
      body: {
        name: fields.name,
        scopes: fields.scopes,
        workspace_id: id.nullable().default(null),
        version: z.string().optional().describe('The API version the key is pinned to. Default: the newest.'),
        expires_at: fields.expires_at.default(null),
        spend_cap_usd: fields.spend_cap_usd.default(null),
        spend_cap_period: fields.spend_cap_period.default('total'),
        allowed_models: fields.allowed_models.default(null),
      },
      reply: one(NewApiKey),
      status: 201,
      errors: ['limit_reached', 'unsupported_version'],
    }),
    update: endpoint('PATCH /api-keys/:id', {
      summary: 'Change name, scopes, expiry, cap or models',
      description:
        'The admins of the only workspace that a key reaches may change its cap and its models, and nothing else of it.',
      ...session,
      consent: 'person',
      body: z.object(fields).partial().shape,
      reply: one(ApiKey),
      errors: ['invalid_state', 'insufficient_role'],
    }),
    revoke: endpoint('DELETE /api-keys/:id', {
      summary: 'Revoke an API key for good',
      description: 'The admins of the only workspace that a key reaches may, too.',
      ...session,
      consent: 'person',
      reply: deleted,
    }),
    rotate: endpoint('POST /api-keys/:id/rotate', {
      summary: 'Replace the secret; name, scopes and what was spent stay',
      ...session,
      consent: 'person',
      body: {
        overlap_seconds: z
          .number()
          .int()
          .min(0)
          .max(604_800)
          .default(0)
          .describe('How long the old secret goes on working.'),
      },
      reply: one(NewApiKey),
      errors: ['invalid_state', 'insufficient_role'],
    }),
  },
)
