import { eventTypes } from '#core/events.ts'

export const computerEvents = eventTypes('computer:read', ['user', 'workspace'], {
  'computer.created': 'A machine was paired, or a cloud computer made.',
  'computer.updated': 'A computer was renamed, or its machine says something else of itself.',
  'computer.started': 'A cloud computer runs, and its daemon has come.',
  'computer.stopped': 'A cloud computer was stopped; its home is kept.',
  'computer.failed': 'A cloud computer could not be made or started, or ended by itself again and again.',
  'computer.connected': 'The daemon of a computer has come.',
  'computer.disconnected': 'The daemon of a computer has gone.',
  'computer.exposed': 'A workspace may use a computer.',
  'computer.exposure_changed': 'A workspace may do other things with a computer.',
  'computer.withdrawn': 'A workspace may no longer use a computer.',
  'computer.transferred': 'A computer has another owner.',
  'computer.credential_rotated': 'The machine has another credential.',
  'computer.local_models_changed': 'A computer has other models than before.',
  'computer.local_model_removed': 'A model was removed from a computer.',
  'computer.local_model_mapped': 'A local model answers for a model of the platform, or no longer.',
  'computer.deleted': 'A computer was let go.',
})
