import { eventTypes } from '#core/events.ts'

export const accountEvents = [
  ...eventTypes(null, ['user'], { 'account.created': 'An account was created.' }),
  ...eventTypes('settings:read', ['user'], {
    'settings.updated': 'Account settings were changed.',
    'passkey.added': 'A passkey was added.',
    'passkey.removed': 'A passkey was removed.',
    'identity.linked': 'An identity provider account was linked.',
    'identity.unlinked': 'An identity provider account was unlinked.',
    'account.recovered':
      'The password was reset by email. `first`: the reset also confirmed the email address. `closed` counts what was disabled, `to_review` what remains to review.',
  }),
  ...eventTypes('usage:read', ['user'], {
    'credits.granted': 'Credits were granted to the account.',
    'credits.requested': 'A user requested credits.',
    'credits.refused': 'A credit request was rejected.',
    'call.refunded': 'A model call was fully or partly refunded.',
  }),
]
