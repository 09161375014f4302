import { z } from 'zod'
import { area, base, deleted, endpoint, idOut, one, page, time } from '#core/contract.ts'
import { Account } from './contract.ts'

export const Identity = z
  .object({
    ...base,
    issuer: z.string(),
    email: z.string().nullable().describe('As the provider last named it.'),
    last_used_at: time.nullable(),
  })
  .meta({ id: 'Identity' })

const start = one(
  z.object({
    id: idOut,
    created_at: time,
    expires_at: time,
    url: z.string().describe('Where the browser goes now.'),
    secret: z
      .string()
      .describe('Kept by the page that begins, and handed in with what comes back: another browser does not have it.'),
  }),
)

const back = {
  secret: z.string().max(200),
  query: z
    .string()
    .max(8_192)
    .describe('The query of the address that the provider sent the browser back to, such as `code=…&state=…`.'),
}

export const identities = area(
  'identities',
  {
    title: 'Identity provider',
    summary: 'Sign in with the account at the identity provider of the instance (OpenID Connect).',
  },
  {
    list: endpoint('GET /app/identities', {
      summary: 'List the accounts at an identity provider that sign in to yours',
      scope: null,
      auth: 'session',
      reply: page(Identity),
      beyond: true,
    }),
    start_sign_in: endpoint('POST /app/identities/start-sign-in', {
      summary: 'Begin to sign in at the identity provider',
      scope: null,
      auth: 'sign_in',
      body: {
        invitation_token: z.string().max(200).optional().describe('Lets somebody join who was invited.'),
      },
      reply: start,
      errors: ['not_supported', 'rate_limited', 'upstream_error'],
      beyond: true,
    }),
    sign_in: endpoint('POST /app/identities/sign-in', {
      summary: 'Sign in, or join, with what the identity provider sent back',
      description:
        'Finds the account by issuer and subject, never by email address. People without an account join as `UK_OIDC_JOIN` says. If the provider sends no `email_verified`, they join with an unverified address where anyone may join or with an invitation link; with `false` they can’t join.',
      scope: null,
      auth: 'sign_in',
      body: back,
      reply: one(Account),
      errors: [
        'invalid_credentials',
        'link_expired',
        'already_exists',
        'policy_denied',
        'setup_required',
        'rate_limited',
        'not_supported',
        'upstream_error',
      ],
      beyond: true,
    }),
    start_link: endpoint('POST /app/identities/start-link', {
      summary: 'Begin to link an account at the identity provider to yours',
      scope: null,
      consent: 'person',
      auth: 'session',
      reply: start,
      errors: ['proof_required', 'not_supported', 'upstream_error'],
      beyond: true,
    }),
    link: endpoint('POST /app/identities', {
      summary: 'Link the account that the identity provider sent back',
      scope: null,
      consent: 'person',
      auth: 'session',
      body: back,
      reply: one(Identity),
      status: 201,
      errors: [
        'proof_required',
        'invalid_credentials',
        'link_expired',
        'already_exists',
        'not_supported',
        'upstream_error',
      ],
      beyond: true,
    }),
    unlink: endpoint('DELETE /app/identities/:id', {
      summary: 'Unlink an account at the identity provider, unless it is the last way to sign in',
      description: 'The sessions that were begun with it end, apart from the one that asks.',
      scope: null,
      consent: 'person',
      auth: 'session',
      reply: deleted,
      errors: ['proof_required', 'invalid_state'],
      beyond: true,
    }),
  },
)
