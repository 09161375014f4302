import { eventTypes } from '#core/events.ts'

export const automationEvents = eventTypes('automation:read', ['workspace', 'user'], {
  'automation.created': 'An automation was created.',
  'automation.updated': 'An automation was changed.',
  'automation.archived': 'An automation was archived and no longer runs.',
  'automation.unarchived': 'An automation was unarchived.',
  'automation.paused':
    'The server paused an automation: it kept failing and was archived, or its agent was changed by someone with fewer permissions.',
  'automation.deleted': 'An automation and its runs were deleted.',
  'automation.run.queued': 'An automation run was queued.',
  'automation.run.started': 'An automation run started.',
  'automation.run.succeeded': 'An automation run succeeded.',
  'automation.run.failed': 'An automation run failed or timed out.',
  'automation.run.cancelled': 'An automation run was canceled.',
})
