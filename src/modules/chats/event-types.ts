import { eventTypes } from '#core/events.ts'
import { lifecycleEvents } from '#authz/lifecycle.ts'

export const chatEvents = [
  ...eventTypes('chat:read', ['chat', 'workspace'], {
    'chat.created': 'A chat was made.',
    'chat.updated': 'A chat was renamed, or its model or agent changed.',
    'chat.moved': 'A chat was moved to another workspace.',
    'message.created': 'A message was sent.',
    'message.completed': 'An answer is finished; `status` is `incomplete` when it was stopped.',
    'message.failed': 'An answer failed.',
    'message.updated': 'What an interrupted answer had cost became known.',
    'run.queued': 'A run waits for its turn.',
    'run.started': 'A run began.',
    'run.requires_action': 'A run waits for somebody to decide.',
    'run.completed': 'A run has ended well.',
    'run.failed': 'A run has failed.',
    'run.cancelled': 'A run was stopped.',
    'goal.started': 'A chat was given a goal.',
    'goal.progressed': 'A turn of a goal began, or was judged.',
    'goal.resumed': 'A goal goes on with a bigger cap.',
    'goal.achieved': 'The judge found a goal achieved.',
    'goal.exhausted': 'A goal has used up its turns, cost or time.',
    'goal.stalled': 'A goal was left after attempts without progress.',
    'goal.ended': 'A goal was ended or its run stopped.',
    'goal.failed': 'A goal cannot be pursued further.',
  }),
  ...lifecycleEvents('chat', 'chat:read', ['chat', 'workspace']),
]
