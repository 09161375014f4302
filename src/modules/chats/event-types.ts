import { eventTypes } from '#core/events.ts'
import { lifecycleEvents } from '#authz/lifecycle.ts'

export const chatEvents = [
  ...eventTypes('chat:read', ['chat', 'workspace'], {
    'chat.created': 'A chat was created.',
    'chat.updated': 'A chat was renamed, or its model or agent changed.',
    'chat.moved': 'A chat was moved to another workspace.',
    'message.created': 'A message was sent.',
    'message.completed': 'An answer was completed. `status` is `incomplete` if it was stopped.',
    'message.failed': 'An answer failed.',
    'message.updated': 'The cost of an interrupted answer became known.',
    'run.queued': 'A run was queued.',
    'run.started': 'A run started.',
    'run.requires_action': 'A run is waiting for a decision.',
    'run.completed': 'A run completed.',
    'run.failed': 'A run failed.',
    'run.cancelled': 'A run was stopped.',
    'goal.started': 'A goal was started.',
    'goal.progressed': 'A turn of a goal started or was judged.',
    'goal.resumed': 'A goal was resumed with a higher limit.',
    'goal.achieved': 'A goal was achieved.',
    'goal.exhausted': 'A goal reached its limit of turns, cost or time.',
    'goal.stalled': 'A goal was stopped after several turns without progress.',
    'goal.ended': 'A goal was ended, or its run was stopped.',
    'goal.failed': 'A goal failed.',
  }),
  ...lifecycleEvents('chat', 'chat:read', ['chat', 'workspace']),
]
