import { eventTypes } from '#core/events.ts'

export const providerEndpointEvents = eventTypes('gateway:read', ['user', 'workspace'], {
  'provider_endpoint.created': 'A provider endpoint was set up.',
  'provider_endpoint.updated': 'A provider endpoint was changed.',
  'provider_endpoint.deleted': 'A provider endpoint was removed.',
  'provider_endpoint.status_changed': 'A provider endpoint began to fail, or works again.',
})
