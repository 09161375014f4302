import { eventTypes } from '#core/events.ts'

export const apiKeyEvents = eventTypes('settings:read', ['user'], {
  'api_key.created': 'A key was made.',
  'api_key.updated': 'A key was changed.',
  'api_key.rotated': 'A key got another secret.',
  'api_key.revoked': 'A key was revoked.',
})
