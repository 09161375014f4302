import { z } from 'zod'
import { base, endpoint, idOut, one, page, time, usd } from '#core/contract.ts'
import { positiveUsd } from '#core/money.ts'

const status = z.enum(['pending', 'granted', 'refused'])

export const CreditRequest = z
  .object({
    ...base,
    account_id: idOut,
    name: z.string().describe('Of who asks.'),
    email: z.string(),
    amount_usd: usd.nullable().describe('Null: as the administrator sees fit.'),
    note: z.string(),
    balance_usd: usd.describe('What who asks has left now.'),
    status,
    granted_usd: usd.nullable(),
    answer: z.string().nullable().describe('What the administrator said to it.'),
    answered_at: time.nullable(),
  })
  .meta({ id: 'CreditRequest' })

const amount = positiveUsd
const note = z.string().trim().max(500).default('')

/** The endpoints of `me` by which a person asks for credits. */
export const askingForCredits = {
  request_credits: endpoint('POST /me/credit-requests', {
    summary: 'Ask the administrator for credits',
    description:
      'For an account whose calls draw on a balance; one request at a time, five a day. The administrator is notified, and the answer comes as a notification to you.',
    scope: 'settings:write',
    consent: 'person',
    ofAccount: true,
    body: { amount_usd: amount.nullable().default(null), note },
    reply: one(CreditRequest),
    status: 201,
    errors: ['already_exists', 'invalid_state', 'limit_reached'],
    beyond: true,
  }),
  credit_requests: endpoint('GET /me/credit-requests', {
    summary: 'List your requests for credits',
    scope: 'usage:read',
    reply: page(CreditRequest),
    beyond: true,
  }),
}

/** The endpoints of `admin` that list requests for credits and answer them. */
export const answeringRequests = {
  credit_requests: endpoint('GET /admin/credit-requests', {
    summary: 'List requests for credits',
    scope: null,
    auth: 'session',
    query: { status: status.optional().describe('Only those. Default: all.') },
    reply: page(CreditRequest),
    beyond: true,
  }),
  grant_request: endpoint('POST /admin/credit-requests/:id/grant', {
    summary: 'Grant the credits that somebody asked for, or as many as you say',
    scope: null,
    consent: 'person',
    auth: 'session',
    body: { amount_usd: amount.optional().describe('Default: what was asked for.'), note },
    reply: one(CreditRequest),
    errors: ['invalid_state', 'missing_parameter'],
    beyond: true,
  }),
  refuse_request: endpoint('POST /admin/credit-requests/:id/refuse', {
    summary: 'Refuse a request for credits',
    scope: null,
    consent: 'person',
    auth: 'session',
    body: { note },
    reply: one(CreditRequest),
    errors: ['invalid_state'],
    beyond: true,
  }),
}
