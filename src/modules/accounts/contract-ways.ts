import { z } from 'zod'
import { area, endpoint, idOut, none, one, time } from '#core/contract.ts'
import { shown } from './contract-passkeys.ts'
import { Account } from './contract.ts'
import { newPassword } from './contract-password.ts'

const email = z.string().trim().max(254)
const proved = one(
  z.object({
    id: idOut.describe('Of the session.'),
    created_at: time.describe('When it was shown.'),
    until: time.describe('How long that is enough for what gives or takes a way in.'),
  }),
)

export const waysIn = area(
  'ways_in',
  { title: 'Ways in', summary: 'What people can sign in with here, and the way back in for who has forgotten.' },
  {
    list: endpoint('GET /app/ways-in', {
      summary: 'What one can sign in with on this instance',
      scope: null,
      auth: 'open',
      reply: one(
        z.object({
          identity_provider: z.object({ name: z.string() }).nullable().describe('Null: none is set up.'),
          recovery: z.boolean().describe('Whether who has forgotten the password can have a mail sent.'),
        }),
      ),
      beyond: true,
    }),
    prove: endpoint('POST /app/proofs', {
      summary: 'Show that it is you who sits before this session',
      description:
        'By the password, or by a passkey (`POST /app/passkeys/proof-options` begins that). It lasts for 10 minutes, in this session.',
      scope: null,
      consent: 'person',
      auth: 'session',
      body: { password: z.string().max(256).optional(), credential: shown.optional() },
      reply: proved,
      errors: ['invalid_credentials', 'link_expired', 'missing_parameter', 'rate_limited', 'not_supported'],
      beyond: true,
    }),
    end_other_sessions: endpoint('POST /app/sessions/end-others', {
      summary: 'End every session of this account but this one',
      scope: null,
      consent: 'person',
      auth: 'session',
      reply: none,
      beyond: true,
    }),
    request_recovery: endpoint('POST /app/recovery', {
      summary: 'Have a mail sent by which a forgotten password is set anew',
      description:
        'The answer is the same whether there is an account with this address or not, and so is the time that it takes. The token in the mail is good for an hour, once; one mail in five minutes.',
      scope: null,
      auth: 'sign_in',
      body: { email },
      reply: none,
      errors: ['not_ready', 'rate_limited'],
      beyond: true,
    }),
    recover: endpoint('POST /app/recovery/password', {
      summary: 'Set a new password with the token of a mail, and sign in',
      description:
        'Every session that the account had ends. Its keys, passkeys and linked accounts stay, unless this is what confirms its address: then they end too, for somebody else may have made the account with it; its webhooks, providers and automations are switched off, its open invitations revoked, and what goes on is ended. A notification counts these, and what is left to look at. Not the administrator’s.',
      scope: null,
      auth: 'sign_in',
      body: {
        token: z.string().max(200),
        new_password: newPassword,
      },
      reply: one(Account),
      errors: ['link_expired', 'rate_limited'],
      beyond: true,
    }),
    sign_out: endpoint('POST /app/sign-out', {
      summary: 'End this session, and say where its identity provider is signed out of',
      scope: null,
      auth: 'session',
      reply: one(
        z.object({
          id: idOut.describe('Of the session that has ended.'),
          created_at: time,
          url: z
            .string()
            .nullable()
            .describe('Where a browser goes to sign out of the identity provider too (RP-initiated logout).'),
        }),
      ),
      beyond: true,
    }),
  },
)
