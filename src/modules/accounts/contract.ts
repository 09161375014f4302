import { z } from 'zod'
import { account, byScope, session, signIn } from '#core/access.ts'
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
  .regex(/^[^\s@]+@[^\s@]+$/, 'must be an email address')
const name = z.string().trim().min(1).max(120)

export const auth = area(
  'auth',
  { title: 'Sign-in', summary: 'Accounts, sessions and passwords.' },
  {
    sign_up: endpoint('POST /auth/sign-up', {
      summary: 'Create an account and sign in',
      description:
        'The first account of an instance becomes its administrator and needs the setup token printed when the server started. The token isn’t required if everything is local: the server listens only on loopback, `UK_PUBLIC_URL` is unset or loopback, `UK_TRUSTED_PROXIES` is unset, and the request has no proxy headers.',
      access: signIn(),
      body: {
        email,
        password: newPassword,
        name,
        setup_token: z.string().optional().describe('The setup token. Only for the first account.'),
        invitation_token: z
          .string()
          .optional()
          .describe(
            'The invitation token. Required if sign-up is by invitation, together with the invited email address.',
          ),
      },
      reply: one(Account),
      status: 201,
      errors: ['already_exists', 'setup_required', 'policy_denied', 'rate_limited'],
      beyond: true,
    }),
    sign_in: endpoint('POST /auth/sign-in', {
      summary: 'Sign in',
      access: signIn(),
      body: { email, password: z.string().max(256) },
      reply: one(Account),
      errors: ['invalid_credentials', 'rate_limited'],
      beyond: true,
    }),
    sign_out: endpoint('POST /auth/sign-out', {
      summary: 'Sign out',
      access: session(),
      reply: none,
      beyond: true,
    }),
    session: endpoint('GET /auth/session', {
      summary: 'Get the current session and its account',
      access: session(),
      reply: one(Session),
      beyond: true,
    }),
    sessions: endpoint('GET /auth/sessions', {
      summary: 'List the sessions of your account',
      access: session(),
      reply: page(Session),
      beyond: true,
    }),
    end_session: endpoint('DELETE /auth/sessions/:id', {
      summary: 'Sign out a session of your account',
      access: session(),
      consent: 'person',
      reply: deleted,
      beyond: true,
    }),
    change_password: endpoint('POST /auth/password', {
      summary: 'Change the password and sign out all other sessions',
      access: session(),
      consent: 'person',
      body: {
        current_password: z.string().max(256).optional().describe('Required if the account has a password.'),
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
  kind: z.string().describe('The kind of resource: `file` (including folders), `chat`, `agent`, …'),
  count: z.number().int(),
  size_bytes: z.number().int().nullable().describe('Null for kinds without a size.'),
})
export const UsageSummary = z
  .object({
    id: idOut,
    created_at: time,
    balance_usd: usd
      .nullable()
      .describe('Null: this tier has no credit balance, or the key is restricted to one workspace.'),
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
      .describe('Model calls of the account. For a key restricted to one workspace, those of that workspace.'),
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
    overrun_usd: usd.describe('Cost above the reserved amount. The instance pays it.'),
    cost_source: z.enum(['reported', 'computed', 'estimated', 'free']).nullable(),
    finish_reason: z.string().nullable(),
    first_token_ms: z.number().int().nullable(),
    duration_ms: z.number().int(),
    streamed: z.boolean(),
  })
  .meta({ id: 'MeteredCall' })

export const me = area(
  'me',
  { title: 'Me', summary: 'The caller’s profile, limits and usage.' },
  {
    usage: endpoint('GET /me/usage', {
      summary: 'Get the caller’s storage and model usage',
      description:
        '`view=summary` returns one object with storage by workspace and kind, and totals of model calls. `view=history` lists metered calls, newest first. The filters apply only to `history`.',
      access: byScope('usage:read'),
      query: {
        view: z.enum(['summary', 'history']).default('summary'),
        day: day.optional().describe('Only calls on this UTC date.'),
        from: day.optional().describe('Only calls on or after this UTC date.'),
        to: day.optional().describe('Only calls up to and including this UTC date.'),
        model: z.string().max(512).optional(),
        provider: z.string().max(64).optional(),
        key_id: id.optional().describe('Only calls with this API key.'),
        workspace_id: id.optional().describe('Only calls in this workspace.'),
      },
      reply: pageOr(MeteredCall, UsageSummary),
    }),
    get: endpoint('GET /me', {
      summary: 'Get the caller’s profile',
      access: byScope('user:read'),
      reply: one(Account),
    }),
    limits: endpoint('GET /me/limits', {
      summary: 'Get the caller’s tier and limits',
      access: byScope('user:read'),
      reply: one(Limits),
    }),
    ...askingForCredits,
  },
)

const preferences = {
  locale: z.string().max(35).nullable().describe('A BCP 47 tag, such as en-GB.'),
  time_zone: z.string().max(64).nullable().describe('An IANA name, such as Europe/Berlin.'),
  theme: z.enum(['system', 'light', 'dark']),
  default_model: z.string().max(200).nullable().describe('The default model for new chats and agents.'),
}
export const Settings = z.object({ ...base, ...preferences }).meta({ id: 'Settings' })

export const settings = area(
  'settings',
  { title: 'Settings', summary: 'Account preferences.' },
  {
    get: endpoint('GET /settings', {
      summary: 'Get the preferences',
      access: byScope('settings:read'),
      reply: one(Settings),
    }),
    update: endpoint('PATCH /settings', {
      summary: 'Update preferences such as theme, language and time zone',
      access: account('settings:write'),
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
    id: idOut.describe('The ID of the model call.'),
    created_at: time,
    account_id: idOut,
    amount_usd: usd.describe('The amount of this refund.'),
    charged_usd: usd.describe('The amount originally charged.'),
    refunded_usd: usd.describe('The total amount refunded so far.'),
    balance_usd: usd,
  })
  .meta({ id: 'Refund' })

export const AccountForAdmin = Account.extend({
  status: z.enum(['active']).describe('Whether more charges for this call can follow.'),
  balance_usd: usd.nullable().describe('Null: this tier has no credit balance.'),
  spent_usd: usd.describe('Total cost of the account’s model calls, charged or not.'),
  spent_30d_usd: usd.describe('Cost in the last 30 days, including today.'),
  last_seen_at: time
    .nullable()
    .describe('When a session or key of the account was last used, accurate to a few seconds.'),
}).meta({ id: 'AccountForAdmin' })

const accountName = z
  .string()
  .trim()
  .min(1)
  .max(254)
  .describe('The account: its ID, its verified email address, or its name if the name is unique.')

export const admin = area(
  'admin',
  { title: 'Administration', summary: 'For administrators of the instance.' },
  {
    accounts: endpoint('GET /admin/accounts', {
      summary: 'List accounts with their balance, spending and last activity',
      access: session(),
      query: {
        q: z
          .string()
          .trim()
          .max(254)
          .optional()
          .describe('Only accounts whose name or email address contains these words.'),
      },
      reply: page(AccountForAdmin),
      beyond: true,
    }),
    credits: endpoint('POST /admin/accounts/:id/credits', {
      summary: 'Grant credits to an account',
      access: session(),
      consent: 'person',
      params: { id: accountName },
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
      summary: 'Refund a model call',
      description:
        'Refunds the full remaining amount, or part of it, to the balance that was charged. The call’s cost still counts toward caps and budgets.',
      access: session(),
      consent: 'person',
      body: {
        amount_usd: positiveUsd.nullable().default(null).describe('Null: the full remaining amount.'),
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
