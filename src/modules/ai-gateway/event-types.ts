import { eventTypes } from '#core/events.ts'

export const providerEndpointEvents = eventTypes('gateway:read', ['user', 'workspace'], {
  'provider_endpoint.created': 'A provider endpoint was added.',
  'provider_endpoint.updated': 'A provider endpoint was changed.',
  'provider_endpoint.deleted': 'A provider endpoint was deleted.',
  'provider_endpoint.status_changed': 'A provider endpoint started failing, or works again.',
})
