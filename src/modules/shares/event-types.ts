import { eventTypes } from '#core/events.ts'

export const shareEvents = eventTypes('share:read', ['workspace', 'user'], {
  'share.created': 'Something was shared.',
  'share.updated': 'A share gives another access.',
  'share.claimed': 'Somebody took what was shared with their address.',
  'share.revoked': 'A share was revoked or given back.',
})
