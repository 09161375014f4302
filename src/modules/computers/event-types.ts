import { eventTypes } from '#core/events.ts'

export const computerEvents = eventTypes('computer:read', ['user', 'workspace'], {
  'computer.created': 'A computer was paired, or a cloud computer was created.',
  'computer.updated': 'A computer was renamed, or reported new information about itself.',
  'computer.started': 'A cloud computer started, and its daemon is connected.',
  'computer.stopped': 'A cloud computer was stopped. Its home is kept.',
  'computer.failed': 'A cloud computer couldn’t be created or started, or kept exiting.',
  'computer.connected': 'A computer’s daemon connected.',
  'computer.disconnected': 'A computer’s daemon disconnected.',
  'computer.exposed': 'A computer was shared with a workspace.',
  'computer.exposure_changed': 'A workspace’s capabilities on a computer were changed.',
  'computer.withdrawn': 'A computer is no longer shared with a workspace.',
  'computer.transferred': 'A computer was transferred to another owner.',
  'computer.credential_rotated': 'A computer’s credential was rotated.',
  'computer.local_models_changed': 'A computer’s local models changed.',
  'computer.local_model_removed': 'A local model was removed from a computer.',
  'computer.local_model_mapped': 'A local model was mapped to a platform model, or the mapping was removed.',
  'computer.deleted': 'A computer was deleted.',
})
