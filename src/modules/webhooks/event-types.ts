import { eventTypes } from '#core/events.ts'

export const webhookEvents = eventTypes('workspace:read', ['workspace', 'user'], {
  'webhook_endpoint.created': 'A webhook endpoint was set up.',
  'webhook_endpoint.updated': 'A webhook endpoint was changed, switched on or off, or got another secret.',
  'webhook_endpoint.deleted': 'A webhook endpoint was removed.',
  'webhook_endpoint.disabled':
    'A webhook endpoint was switched off: it kept failing, or who answers for it is no longer an admin.',
})
