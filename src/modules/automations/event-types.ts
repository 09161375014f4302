import { eventTypes } from '#core/events.ts'

export const automationEvents = eventTypes('automation:read', ['workspace', 'user'], {
  'automation.created': 'An automation was made.',
  'automation.updated': 'An automation was changed.',
  'automation.archived': 'An automation was archived and fires no more.',
  'automation.unarchived': 'An automation was brought back from the archive.',
  'automation.paused':
    'An automation was paused by the server: it kept failing, which archives it, or its agent was changed by somebody with fewer rights.',
  'automation.deleted': 'An automation was deleted with its runs.',
  'automation.run.queued': 'A run of an automation waits for its turn.',
  'automation.run.started': 'A run of an automation began.',
  'automation.run.succeeded': 'A run of an automation ended well.',
  'automation.run.failed': 'A run of an automation failed or took too long.',
  'automation.run.cancelled': 'A run of an automation was cancelled.',
})
