import { eventTypes } from '#core/events.ts'

export const driveEvents = eventTypes('drive:read', ['workspace'], {
  'file.created': 'A file or folder was created.',
  'file.content_changed': 'The content of a file was changed.',
  'file.updated': 'A file or folder was renamed.',
  'file.moved': 'A file or folder was moved, with its contents.',
  'file.trashed': 'A file or folder was moved to the trash, with its contents.',
  'file.restored': 'A file or folder was restored from the trash, with its contents.',
  'file.deleted': 'A file or folder was permanently deleted.',
})
