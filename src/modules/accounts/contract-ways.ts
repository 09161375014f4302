import { z } from 'zod'
import { open, session, signIn } from '#core/access.ts'
import { area, endpoint, idOut, none, one, time } from '#core/contract.ts'
import { authenticationResponse } from './contract-passkeys.ts'
import { Account } from './contract.ts'
import { newPassword } from './contract-password.ts'

const email = z.string().trim().max(254)
const proofReply = one(
  z.object({
    id: idOut.describe('The ID of the session.'),
    created_at: time.describe('When you confirmed your identity.'),
    until: time.describe('When the confirmation expires. It’s required to add or remove a way to sign in.'),
  }),
)

export const waysIn = area(
  'ways_in',
  {
    title: 'Sign-in methods',
    summary: 'The ways to sign in to this instance, identity confirmation, and account recovery.',
  },
  {
    list: endpoint('GET /app/ways-in', {
      summary: 'List the ways to sign in to this instance',
      access: open(),
      reply: one(
        z.object({
          identity_provider: z
            .object({ name: z.string() })
            .nullable()
            .describe('Null: no identity provider is set up.'),
          recovery: z.boolean().describe('Whether users can reset a forgotten password by email.'),
        }),
      ),
      beyond: true,
    }),
    prove: endpoint('POST /app/proofs', {
      summary: 'Confirm your identity in this session',
      description:
        'Use your password or a passkey (start with `POST /app/passkeys/proof-options`). The confirmation lasts 10 minutes in this session.',
      access: session(),
      consent: 'person',
      body: { password: z.string().max(256).optional(), credential: authenticationResponse.optional() },
      reply: proofReply,
      errors: ['invalid_credentials', 'link_expired', 'missing_parameter', 'rate_limited', 'not_supported'],
      beyond: true,
    }),
    end_other_sessions: endpoint('POST /app/sessions/end-others', {
      summary: 'Sign out all other sessions of this account',
      access: session(),
      consent: 'person',
      reply: none,
      beyond: true,
    }),
    request_recovery: endpoint('POST /app/recovery', {
      summary: 'Send a password reset email',
      description:
        'The response and its timing are the same whether or not an account exists for the address. The token in the email can be used once and expires after 1 hour. Up to one email is sent every 5 minutes.',
      access: signIn(),
      body: { email },
      reply: none,
      errors: ['not_ready', 'rate_limited'],
      beyond: true,
    }),
    recover: endpoint('POST /app/recovery/password', {
      summary: 'Reset the password with an emailed token, and sign in',
      description:
        'Signs out all sessions of the account. API keys, passkeys and linked accounts are kept, unless this reset is also the first confirmation of the email address. In that case someone else might have created the account, so they’re removed, webhooks, providers and automations are disabled, open invitations are revoked, and active runs are stopped. A notification lists what was disabled and what to review. This cleanup doesn’t apply to the administrator’s account.',
      access: signIn(),
      body: {
        token: z.string().max(200),
        new_password: newPassword,
      },
      reply: one(Account),
      errors: ['link_expired', 'rate_limited'],
      beyond: true,
    }),
    sign_out: endpoint('POST /app/sign-out', {
      summary: 'Sign out, and get the identity provider’s sign-out URL',
      access: session(),
      reply: one(
        z.object({
          id: idOut.describe('The ID of the session that was signed out.'),
          created_at: time,
          url: z
            .string()
            .nullable()
            .describe(
              'The URL to send the browser to, to sign out of the identity provider as well (RP-initiated logout).',
            ),
        }),
      ),
      beyond: true,
    }),
  },
)
