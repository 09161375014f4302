import { eventTypes } from '#core/events.ts'

export const webhookEvents = eventTypes('workspace:read', ['workspace', 'user'], {
  'webhook_endpoint.created': 'A webhook endpoint was created.',
  'webhook_endpoint.updated': 'A webhook endpoint was changed, enabled, disabled, or its secret was rotated.',
  'webhook_endpoint.deleted': 'A webhook endpoint was deleted.',
  'webhook_endpoint.disabled': 'A webhook endpoint was disabled: it kept failing, or its owner is no longer an admin.',
})
