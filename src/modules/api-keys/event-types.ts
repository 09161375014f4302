import { eventTypes } from '#core/events.ts'

export const apiKeyEvents = eventTypes('settings:read', ['user'], {
  'api_key.created': 'A key was created.',
  'api_key.updated': 'A key was changed.',
  'api_key.rotated': 'A key was rotated.',
  'api_key.revoked': 'A key was revoked.',
})
