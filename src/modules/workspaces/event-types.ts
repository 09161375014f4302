import { eventTypes } from '#core/events.ts'

export const workspaceEvents = [
  ...eventTypes('workspace:read', ['workspace', 'user'], {
    'workspace.created': 'A workspace was made.',
    'workspace.updated': 'A workspace was renamed, described anew or given another budget.',
    'workspace.archived': 'A workspace was archived and is read-only.',
    'workspace.unarchived': 'A workspace was brought back from the archive.',
    'workspace.deleted': 'A workspace was deleted with all that was in it.',
  }),
  ...eventTypes('member:read', ['workspace', 'user'], {
    'member.added': 'Somebody became a member of the workspace.',
    'member.updated': 'A member got another role or other permissions.',
    'member.removed': 'A member left or was removed.',
    'invitation.created': 'Somebody was invited to the workspace.',
    'invitation.revoked': 'An invitation was revoked.',
    'invitation.accepted': 'An invitation was accepted.',
  }),
]
