import { z } from 'zod'
import { session } from '#core/access.ts'
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
      'The key’s scopes. `["*"]` grants everything the caller can grant. `write` implies `read`, and every key has `user:read`.',
    ),
  expires_at: z.iso.datetime().nullable().describe('When the key expires. Null: never.'),
  spend_cap_usd: z
    .number()
    .min(0)
    .max(1_000_000)
    .nullable()
    .describe('Spend cap per period for model calls with this key. Null sets no cap.'),
  spend_cap_period: period.describe('UTC: day, ISO week, calendar month, or total.'),
  allowed_models: allowedModels,
}

export const ApiKey = z
  .object({
    ...base,
    created_by: idOut.describe('The owner of the key.'),
    name: z.string(),
    prefix: z.string().describe('The first 11 characters of the key.'),
    last4: z.string(),
    scopes: z.array(z.string()),
    workspace_id: idOut
      .nullable()
      .describe('The only workspace the key can access. Null: all workspaces of its owner.'),
    version: z.string(),
    status: z.enum(['active', 'revoked', 'expired']),
    expires_at: time.nullable(),
    revoked_at: time.nullable(),
    last_used_at: time.nullable(),
    spend_cap_usd: usd.nullable(),
    spend_cap_period: period,
    spent_usd: usd.describe('Amount spent in the current period.'),
    allowed_models: allowedModels,
  })
  .meta({ id: 'ApiKey' })

export const NewApiKey = ApiKey.extend({ key: z.string().describe('The API key. It’s shown only once.') }).meta({
  id: 'NewApiKey',
})

export const apiKeys = area(
  'api_keys',
  { title: 'API keys', summary: 'Keys for programmatic access. They can be managed only in a signed-in session.' },
  {
    list: endpoint('GET /api-keys', {
      summary: 'List API keys',
      description:
        'Lists your own keys. With `workspace_id`, lists the keys restricted to that workspace: all of them for its admins, your own otherwise.',
      access: session(),
      query: {
        status: z.enum(['active', 'revoked', 'expired']).optional().describe('Filters the list by status.'),
        workspace_id: id.optional(),
      },
      reply: page(ApiKey),
    }),
    create: endpoint('POST /api-keys', {
      summary: 'Create an API key',
      access: session(),
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
      summary: 'Update an API key’s name, scopes, expiry, cap or models',
      description: 'Admins of the workspace that a key is restricted to can change its cap and models.',
      access: session(),
      consent: 'person',
      body: z.object(fields).partial().shape,
      reply: one(ApiKey),
      errors: ['invalid_state', 'insufficient_role'],
    }),
    revoke: endpoint('DELETE /api-keys/:id', {
      summary: 'Revoke an API key permanently',
      description: 'Admins of the workspace that a key is restricted to can also revoke it.',
      access: session(),
      consent: 'person',
      reply: deleted,
    }),
    rotate: endpoint('POST /api-keys/:id/rotate', {
      summary: 'Rotate an API key',
      access: session(),
      consent: 'person',
      body: {
        overlap_seconds: z
          .number()
          .int()
          .min(0)
          .max(604_800)
          .default(0)
          .describe('How long the old secret keeps working.'),
      },
      reply: one(NewApiKey),
      errors: ['invalid_state', 'insufficient_role'],
    }),
  },
)
