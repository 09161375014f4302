/** The table of all events with their channels and required permissions. Each module declares its own. */
import { eventTable, eventTypes } from '#core/events.ts'
import { accountEvents } from './accounts/event-types.ts'
import { agentEvents } from './agents/event-types.ts'
import { providerEndpointEvents } from './ai-gateway/event-types.ts'
import { apiKeyEvents } from './api-keys/event-types.ts'
import { automationEvents } from './automations/event-types.ts'
import { chatEvents } from './chats/event-types.ts'
import { computerEvents } from './computers/event-types.ts'
import { driveEvents } from './drive/event-types.ts'
import { notificationEvents } from './notifications/event-types.ts'
import { operationEvents } from './operations/event-types.ts'
import { shareEvents } from './shares/event-types.ts'
import { webhookEvents } from './webhooks/event-types.ts'
import { workspaceEvents } from './workspaces/event-types.ts'

export const events = eventTable([
  ...accountEvents,
  ...apiKeyEvents,
  ...workspaceEvents,
  ...shareEvents,
  ...agentEvents,
  ...automationEvents,
  ...chatEvents,
  ...computerEvents,
  ...driveEvents,
  ...operationEvents,
  ...notificationEvents,
  ...webhookEvents,
  ...providerEndpointEvents,
  // Internal: sent to no channel.
  ...eventTypes(null, [], { 'call.interrupted': 'The result of a model call whose server process crashed.' }),
])
