import { z } from 'zod'
import { session, signIn } from '#core/access.ts'
import { area, base, deleted, endpoint, idOut, one, page, time } from '#core/contract.ts'
import { Account } from './contract.ts'

export const Identity = z
  .object({
    ...base,
    issuer: z.string(),
    email: z.string().nullable().describe('The email address most recently sent by the provider.'),
    last_used_at: time.nullable(),
  })
  .meta({ id: 'Identity' })

const start = one(
  z.object({
    id: idOut,
    created_at: time,
    expires_at: time,
    url: z.string().describe('The URL to send the browser to.'),
    secret: z
      .string()
      .describe(
        'Keep this in the page that starts the sign-in and send it with the callback. It ties the sign-in to this browser.',
      ),
  }),
)

const back = {
  secret: z.string().max(200),
  query: z.string().max(8_192).describe('The query string of the callback URL, such as `code=…&state=…`.'),
}

export const identities = area(
  'identities',
  {
    title: 'Identity provider',
    summary: 'Sign in with the instance’s identity provider (OpenID Connect).',
  },
  {
    list: endpoint('GET /app/identities', {
      summary: 'List your linked identity provider accounts',
      access: session(),
      reply: page(Identity),
      beyond: true,
    }),
    start_sign_in: endpoint('POST /app/identities/start-sign-in', {
      summary: 'Start sign-in with the identity provider',
      access: signIn(),
      body: {
        invitation_token: z.string().max(200).optional().describe('An invitation token, to join with an invitation.'),
      },
      reply: start,
      errors: ['not_supported', 'rate_limited', 'upstream_error'],
      beyond: true,
    }),
    sign_in: endpoint('POST /app/identities/sign-in', {
      summary: 'Complete sign-in with the identity provider',
      description:
        'Finds the account by issuer and subject, never by email address. People without an account join according to `UK_OIDC_JOIN`. If the provider sends no `email_verified`, they can join with an unverified address only where anyone can join, or with an invitation link. With `false`, they can’t join.',
      access: signIn(),
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
      summary: 'Start linking an identity provider account',
      access: session(),
      consent: 'person',
      reply: start,
      errors: ['proof_required', 'not_supported', 'upstream_error'],
      beyond: true,
    }),
    link: endpoint('POST /app/identities', {
      summary: 'Link an identity provider account',
      access: session(),
      consent: 'person',
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
      summary: 'Unlink an identity provider account',
      description:
        'Fails if it’s your last way to sign in. Signs out the sessions started with it, except the current one.',
      access: session(),
      consent: 'person',
      reply: deleted,
      errors: ['proof_required', 'invalid_state'],
      beyond: true,
    }),
  },
)
