import { eventTypes } from '#core/events.ts'

export const operationEvents = eventTypes('operation:read', ['operation', 'user'], {
  'operation.queued': 'An operation was accepted, or waits to be done again.',
  'operation.running': 'An operation began, or has come further.',
  'operation.succeeded': 'An operation succeeded.',
  'operation.failed': 'An operation failed.',
  'operation.cancelled': 'An operation was cancelled.',
  'operation.expired': 'An operation took too long and was ended.',
})
