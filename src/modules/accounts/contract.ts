import { z } from 'zod'
import { area, base, day, deleted, endpoint, id, idOut, none, one, page, pageOr, time, usd } from '#core/contract.ts'
import { positiveUsd } from '#core/money.ts'
import { callSums, usageSchema } from '#core/usage.ts'
import { answeringRequests, askingForCredits } from './contract-credits.ts'
import { newPassword } from './contract-password.ts'

export const Account = z
  .object({
    ...base,
    email: z.string(),
    email_verified_at: time.nullable(),
    name: z.string(),
    tier: z.enum(['standard', 'unlimited']),
    administrator: z.boolean(),
    personal_workspace_id: idOut,
  })
  .meta({ id: 'Account' })

export const Session = z
  .object({
    id: idOut,
    account: Account,
    user_agent: z.string().nullable(),
    ip: z.string().nullable(),
    last_used_at: time.nullable(),
    expires_at: time,
    created_at: time,
    current: z.boolean(),
  })
  .meta({ id: 'Session' })

const email = z
  .string()
  .trim()
  .max(254)
  .regex(/^[^\s@]+@[^\s@]+$/, 'must be an e-mail address')
const name = z.string().trim().min(1).max(120)

export const auth = area(
  'auth',
  { title: 'Sign-in', summary: 'Accounts, sessions and passwords.' },
  {
    sign_up: endpoint('POST /auth/sign-up', {
      summary: 'Make an account and sign in',
      description:
        'The first account of an instance is its administrator and needs the setup token that is printed at start, unless everything happens on this machine: nothing but loopback, `UK_PUBLIC_URL` unset or loopback, no `UK_TRUSTED_PROXIES`, and nothing in the request that tells of a proxy.',
      scope: null,
      auth: 'sign_in',
      body: {
        email,
        password: newPassword,
        name,
        setup_token: z.string().optional().describe('Only for the first account.'),
        invitation_token: z
          .string()
          .optional()
          .describe('Needed where sign-up is by invitation, together with the address that was invited.'),
      },
      reply: one(Account),
      status: 201,
      errors: ['already_exists', 'setup_required', 'policy_denied', 'rate_limited'],
      beyond: true,
    }),
    sign_in: endpoint('POST /auth/sign-in', {
      summary: 'Sign in',
      scope: null,
      auth: 'sign_in',
      body: { email, password: z.string().max(256) },
      reply: one(Account),
      errors: ['invalid_credentials', 'rate_limited'],
      beyond: true,
    }),
    sign_out: endpoint('POST /auth/sign-out', {
      summary: 'End this session',
      scope: null,
      auth: 'session',
      reply: none,
      beyond: true,
    }),
    session: endpoint('GET /auth/session', {
      summary: 'This session and its account',
      scope: null,
      auth: 'session',
      reply: one(Session),
      beyond: true,
    }),
    sessions: endpoint('GET /auth/sessions', {
      summary: 'List the sessions of this account',
      scope: null,
      auth: 'session',
      reply: page(Session),
      beyond: true,
    }),
    end_session: endpoint('DELETE /auth/sessions/:id', {
      summary: 'End a session of this account',
      scope: null,
      consent: 'person',
      auth: 'session',
      reply: deleted,
      beyond: true,
    }),
    change_password: endpoint('POST /auth/password', {
      summary: 'Change the password; every other session ends',
      scope: null,
      consent: 'person',
      auth: 'session',
      body: {
        current_password: z.string().max(256).optional().describe('Needed where the account has a password.'),
        new_password: newPassword,
      },
      reply: one(Account),
      errors: ['invalid_credentials', 'missing_parameter', 'proof_required', 'rate_limited'],
      beyond: true,
    }),
  },
)

export const Limits = z
  .object({
    id: idOut,
    created_at: time,
    tier: z.enum(['standard', 'unlimited']),
    limits: z.array(
      z.object({
        name: z.string(),
        quota: z.number().int(),
        window_seconds: z.number().int(),
        remaining: z.number().int(),
      }),
    ),
    session: z.object({
      idle_seconds: z.number().int(),
      max_seconds: z.number().int(),
      max_sessions: z.number().int(),
    }),
  })
  .meta({ id: 'Limits' })

const kindOfStorage = z.object({
  kind: z.string().describe('`file` (folders too), `chat`, `agent`, …'),
  count: z.number().int(),
  size_bytes: z.number().int().nullable().describe('Null where only things are counted.'),
})
export const UsageSummary = z
  .object({
    id: idOut,
    created_at: time,
    balance_usd: usd.nullable().describe('Null: the tier draws on no balance, or the key reaches one workspace only.'),
    storage: z.object({
      count: z.number().int(),
      size_bytes: z.number().int(),
      workspaces: z.array(
        z.object({
          workspace_id: idOut,
          count: z.number().int(),
          size_bytes: z.number().int(),
          kinds: z.array(kindOfStorage),
        }),
      ),
    }),
    calls: z
      .object({ today: z.object(callSums), this_month: z.object(callSums), total: z.object(callSums) })
      .describe('Model calls of the account; those of a workspace for a key that reaches only that one.'),
  })
  .meta({ id: 'UsageSummary' })

export const MeteredCall = z
  .object({
    id: idOut,
    created_at: time,
    workspace_id: idOut,
    key_id: idOut.nullable(),
    chat_id: idOut.nullable(),
    run_id: idOut.nullable(),
    surface: z.string(),
    model: z.string(),
    provider: z.string(),
    billing: z.enum(['byok', 'credits', 'free']),
    status: z.enum(['succeeded', 'failed', 'cancelled']),
    usage: usageSchema,
    cost_usd: usd.nullable().describe('Null: the model has no price.'),
    charged_usd: usd,
    refunded_usd: usd,
    overrun_usd: usd.describe('What the provider took beyond the reserve, borne by the instance.'),
    cost_source: z.enum(['reported', 'computed', 'estimated', 'free']).nullable(),
    finish_reason: z.string().nullable(),
    first_token_ms: z.number().int().nullable(),
    duration_ms: z.number().int(),
    streamed: z.boolean(),
  })
  .meta({ id: 'MeteredCall' })

export const me = area(
  'me',
  { title: 'Me', summary: 'The caller: profile, limits and usage.' },
  {
    usage: endpoint('GET /me/usage', {
      summary: 'What the caller stores, and the model calls it made',
      description:
        '`view=summary` is one object: storage by workspace and kind, and sums of calls. `view=history` is the list of metered calls, newest first; the filters are for it.',
      scope: 'usage:read',
      query: {
        view: z.enum(['summary', 'history']).default('summary'),
        day: day.optional().describe('Only calls of this UTC day.'),
        from: day.optional().describe('Only calls from this UTC day on.'),
        to: day.optional().describe('Only calls up to this UTC day, itself included.'),
        model: z.string().max(512).optional(),
        provider: z.string().max(64).optional(),
        key_id: id.optional().describe('Only calls with this API key.'),
        workspace_id: id.optional().describe('Only calls in this workspace.'),
      },
      reply: pageOr(MeteredCall, UsageSummary),
    }),
    get: endpoint('GET /me', { summary: 'The profile of the caller', scope: 'user:read', reply: one(Account) }),
    limits: endpoint('GET /me/limits', {
      summary: 'The tier and the limits that hold for the caller now',
      scope: 'user:read',
      reply: one(Limits),
    }),
    ...askingForCredits,
  },
)

const preferences = {
  locale: z.string().max(35).nullable().describe('A BCP 47 tag, such as en-GB.'),
  time_zone: z.string().max(64).nullable().describe('An IANA name, such as Europe/Berlin.'),
  theme: z.enum(['system', 'light', 'dark']),
  default_model: z.string().max(200).nullable().describe('The model of new chats and agents that name none.'),
}
export const Settings = z.object({ ...base, ...preferences }).meta({ id: 'Settings' })

export const settings = area(
  'settings',
  { title: 'Settings', summary: 'Preferences of the account.' },
  {
    get: endpoint('GET /settings', { summary: 'Read the preferences', scope: 'settings:read', reply: one(Settings) }),
    update: endpoint('PATCH /settings', {
      summary: 'Change preferences: theme, language, time zone; what is left out stays',
      scope: 'settings:write',
      ofAccount: true,
      body: z.object(preferences).partial().shape,
      reply: one(Settings),
      errors: ['invalid_time_zone'],
    }),
  },
)

export const Credits = z
  .object({ id: idOut, created_at: time, account_id: idOut, balance_usd: usd })
  .meta({ id: 'Credits' })

export const Refund = z
  .object({
    id: idOut.describe('Of the call.'),
    created_at: time,
    account_id: idOut,
    amount_usd: usd.describe('What was given back now.'),
    charged_usd: usd.describe('What the call had charged.'),
    refunded_usd: usd.describe('What was given back of it so far.'),
    balance_usd: usd,
  })
  .meta({ id: 'Refund' })

export const AccountForAdmin = Account.extend({
  status: z.enum(['active']).describe('Further ones may come.'),
  balance_usd: usd.nullable().describe('Null: the tier draws on no balance.'),
  spent_usd: usd.describe('What the model calls of the account have cost, charged or not.'),
  spent_30d_usd: usd.describe('Of it, in the last 30 days, today included.'),
  last_seen_at: time.nullable().describe('When a session or a key of the account was last used, to some seconds.'),
}).meta({ id: 'AccountForAdmin' })

const account = z
  .string()
  .trim()
  .min(1)
  .max(254)
  .describe('The account: its ID, its email address if it is verified, or its name if only one account has it.')

export const admin = area(
  'admin',
  { title: 'Administration', summary: 'For the administrator of the instance.' },
  {
    accounts: endpoint('GET /admin/accounts', {
      summary: 'List the accounts of this instance, with what they have left, spent, and when they were last seen',
      scope: null,
      auth: 'session',
      query: { q: z.string().trim().max(254).optional().describe('Only those with these words in name or e-mail.') },
      reply: page(AccountForAdmin),
      beyond: true,
    }),
    credits: endpoint('POST /admin/accounts/:id/credits', {
      summary: 'Grant credits to an account',
      scope: null,
      consent: 'person',
      auth: 'session',
      params: { id: account },
      body: {
        amount_usd: positiveUsd.describe('Up to 9 decimals.'),
        note: z.string().trim().max(500).default(''),
      },
      reply: one(Credits),
      status: 201,
      errors: ['invalid_state'],
      beyond: true,
    }),
    refund: endpoint('POST /admin/calls/:id/refunds', {
      summary: 'Give back what a model call charged',
      description:
        'All that is left of it, or a part. The money returns to the balance of whoever paid; what the call cost goes on counting under caps and budgets.',
      scope: null,
      consent: 'person',
      auth: 'session',
      body: {
        amount_usd: positiveUsd.nullable().default(null).describe('Null: all that is left.'),
        note: z.string().trim().max(500).default(''),
      },
      reply: one(Refund),
      status: 201,
      errors: ['invalid_state'],
      beyond: true,
    }),
    ...answeringRequests,
  },
)
