import { eventTypes } from '#core/events.ts'

export const accountEvents = [
  ...eventTypes(null, ['user'], { 'account.created': 'The account was made.' }),
  ...eventTypes('settings:read', ['user'], {
    'settings.updated': 'Settings of the account were changed.',
    'passkey.added': 'A passkey was added to the account.',
    'passkey.removed': 'A passkey of the account was removed.',
    'identity.linked': 'An account at the identity provider was linked to the account.',
    'identity.unlinked': 'An account at the identity provider was unlinked from the account.',
    'account.recovered':
      'The password of the account was set anew by mail. `first`: that confirmed its address; `closed` counts what was made before and switched off, `to_review` what was left.',
  }),
  ...eventTypes('usage:read', ['user'], {
    'credits.granted': 'The account was given credits.',
    'credits.requested': 'Somebody asked the administrator for credits.',
    'credits.refused': 'The administrator refused a request for credits.',
    'call.refunded': 'What a model call had charged was given back, or a part of it.',
  }),
]
