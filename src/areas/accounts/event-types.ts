import { eventTypes } from '#kernel/events.ts'

export const accountEvents = [
  ...eventTypes(null, ['user'], { 'account.created': 'The account was made.' }),
  ...eventTypes('settings:read', ['user'], { 'settings.updated': 'Settings of the account were changed.' }),
  ...eventTypes('usage:read', ['user'], {
    'credits.granted': 'The account was given credits.',
    'credits.requested': 'Somebody asked the administrator for credits.',
    'credits.refused': 'The administrator refused a request for credits.',
    'call.refunded': 'What a model call had charged was given back, or a part of it.',
  }),
]
