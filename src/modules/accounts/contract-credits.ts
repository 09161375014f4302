import { z } from 'zod'
import { account, byScope, session } from '#core/access.ts'
import { base, endpoint, idOut, one, page, time, usd } from '#core/contract.ts'
import { positiveUsd } from '#core/money.ts'

const status = z.enum(['pending', 'granted', 'refused'])

export const CreditRequest = z
  .object({
    ...base,
    account_id: idOut,
    name: z.string().describe('The name of the account.'),
    email: z.string(),
    amount_usd: usd.nullable().describe('The amount requested. Null leaves it to the administrator.'),
    note: z.string(),
    balance_usd: usd.describe('The requester’s current balance.'),
    status,
    granted_usd: usd.nullable(),
    answer: z.string().nullable().describe('The administrator’s message.'),
    answered_at: time.nullable(),
  })
  .meta({ id: 'CreditRequest' })

const amount = positiveUsd
const note = z.string().trim().max(500).default('')

export const askingForCredits = {
  request_credits: endpoint('POST /me/credit-requests', {
    summary: 'Ask the administrator for credits',
    description:
      'For accounts with a credit balance. You can have one open request, and make up to five a day. Administrators are notified, and you’re notified of the decision.',
    access: account('settings:write'),
    consent: 'person',
    body: { amount_usd: amount.nullable().default(null), note },
    reply: one(CreditRequest),
    status: 201,
    errors: ['already_exists', 'invalid_state', 'limit_reached'],
    beyond: true,
  }),
  credit_requests: endpoint('GET /me/credit-requests', {
    summary: 'List your credit requests',
    access: byScope('usage:read'),
    reply: page(CreditRequest),
    beyond: true,
  }),
}

export const answeringRequests = {
  credit_requests: endpoint('GET /admin/credit-requests', {
    summary: 'List credit requests',
    access: session(),
    query: { status: status.optional().describe('Filters the list by status.') },
    reply: page(CreditRequest),
    beyond: true,
  }),
  grant_request: endpoint('POST /admin/credit-requests/:id/grant', {
    summary: 'Grant a credit request, or a different amount',
    access: session(),
    consent: 'person',
    body: { amount_usd: amount.optional().describe('Default: the requested amount.'), note },
    reply: one(CreditRequest),
    errors: ['invalid_state', 'missing_parameter'],
    beyond: true,
  }),
  refuse_request: endpoint('POST /admin/credit-requests/:id/refuse', {
    summary: 'Reject a credit request',
    access: session(),
    consent: 'person',
    body: { note },
    reply: one(CreditRequest),
    errors: ['invalid_state'],
    beyond: true,
  }),
}
