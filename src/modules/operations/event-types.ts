import { eventTypes } from '#core/events.ts'

export const operationEvents = eventTypes('operation:read', ['operation', 'user'], {
  'operation.queued': 'An operation was queued, for the first time or for a retry.',
  'operation.running': 'An operation started or made progress.',
  'operation.succeeded': 'An operation succeeded.',
  'operation.failed': 'An operation failed.',
  'operation.cancelled': 'An operation was canceled.',
  'operation.expired': 'An operation timed out and was stopped.',
})
