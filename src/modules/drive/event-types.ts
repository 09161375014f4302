import { eventTypes } from '#core/events.ts'

export const driveEvents = eventTypes('drive:read', ['workspace'], {
  'file.created': 'A file or a folder came to be.',
  'file.content_changed': 'A file holds other bytes.',
  'file.updated': 'A file or a folder was renamed.',
  'file.moved': 'A file or a folder was moved, with all that is in it.',
  'file.trashed': 'A file or a folder was moved to the trash, with all that was in it.',
  'file.restored': 'A file or a folder was restored from the trash, with all that was trashed with it.',
  'file.deleted': 'A file or a folder was deleted for good.',
})
