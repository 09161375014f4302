import { eventTypes } from '#core/events.ts'

export const shareEvents = eventTypes('share:read', ['workspace', 'user'], {
  'share.created': 'A resource was shared.',
  'share.updated': 'The access of a share was changed.',
  'share.claimed': 'A share to an email address was claimed.',
  'share.revoked': 'A share was revoked, or its recipient left it.',
})
