import { eventTypes } from '#core/events.ts'
import { lifecycleEvents } from '#authz/lifecycle.ts'

export const agentEvents = [
  ...eventTypes('agent:read', ['workspace'], {
    'agent.created': 'An agent was created.',
    'agent.updated': 'An agent was changed. A changed definition has a new version.',
    'agent.moved': 'An agent was moved to another workspace.',
  }),
  ...lifecycleEvents('agent', 'agent:read', ['workspace']),
]
