import { eventTypes } from '#core/events.ts'

export const workspaceEvents = [
  ...eventTypes('workspace:read', ['workspace', 'user'], {
    'workspace.created': 'A workspace was created.',
    'workspace.updated': 'A workspace’s name, description or budget was changed.',
    'workspace.archived': 'A workspace was archived and is now read-only.',
    'workspace.unarchived': 'A workspace was unarchived.',
    'workspace.deleted': 'A workspace was deleted with all its content.',
  }),
  ...eventTypes('member:read', ['workspace', 'user'], {
    'member.added': 'A member was added to the workspace.',
    'member.updated': 'A member’s role or permissions were changed.',
    'member.removed': 'A member left or was removed.',
    'invitation.created': 'A person was invited to the workspace.',
    'invitation.revoked': 'An invitation was revoked.',
    'invitation.accepted': 'An invitation was accepted.',
  }),
]
