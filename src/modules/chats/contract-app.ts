import { z } from 'zod'
import { deleted, endpoint, id, idOut, one, page, time } from '#core/contract.ts'

export const DefaultModel = z
  .object({
    id: idOut,
    created_at: time,
    model: z.string().nullable().describe('Null: none can be used there.'),
  })
  .meta({ id: 'DefaultModel', description: '`id` is that of the workspace.' })

const ChatModel = z
  .object({ id: idOut, created_at: time, model: z.string().nullable().describe('Null: none can be used there.') })
  .meta({ id: 'ChatModel', description: '`id` is that of the chat.' })

const chatGoal = <G extends z.ZodType>(Goal: G) =>
  z
    .object({ id: idOut, created_at: time, goal: Goal.nullable().describe('Null: none governs the active branch.') })
    .meta({ id: 'ChatGoal', description: '`id` is that of the chat.' })

/** Endpoints for the pages of chats: the caller's own pins, and the model that answers where none is named. */
export const appEndpoints = <C extends z.ZodType, G extends z.ZodType>(Chat: C, Goal: G) =>
  ({
    goal_or_none: endpoint('GET /app/chat-goals/:id', {
      summary: 'See the goal that governs the active branch, or that there is none',
      description: 'Like `GET /chats/:id/goal`, which answers 404 where there is none.',
      scope: 'chat:read',
      on: 'chat',
      reply: one(chatGoal(Goal)),
      beyond: true,
    }),
    model: endpoint('GET /app/chat-models/:id', {
      summary: 'See which model answers your next message in a chat',
      description:
        'The one of the chat, else of its agent, else the one that answers you where neither names one. Who may not send a message there is refused.',
      scope: 'chat:run',
      on: 'chat',
      onShare: 'edit',
      reply: one(ChatModel),
      errors: ['invalid_state'],
      beyond: true,
    }),
    default_model: endpoint('GET /app/chat-model', {
      summary: 'See which model answers in a chat where neither the message, the chat nor its agent names one',
      description: 'The one of your settings, else of the instance (`UK_DEFAULT_MODEL`), else one that you may use.',
      scope: 'chat:run',
      within: 'workspace_id',
      query: { workspace_id: id.optional().describe('Where the chat is. Default: the personal workspace.') },
      reply: one(DefaultModel),
      beyond: true,
    }),
    pinned: endpoint('GET /app/chat-pins', {
      summary: 'List the chats that you have pinned, the latest pin first',
      description: 'Also archived ones; what lies in the trash is left out.',
      scope: 'chat:read',
      reply: page(Chat),
      beyond: true,
    }),
    pin: endpoint('POST /app/chat-pins/:id', {
      summary: 'Pin a chat for yourself',
      description: 'Again it does nothing. Nobody else sees it.',
      scope: 'chat:write',
      on: 'chat',
      role: 'viewer',
      inAnyStatus: true,
      inArchivedWorkspace: true,
      reply: one(Chat),
      errors: ['invalid_state'],
      beyond: true,
    }),
    unpin: endpoint('DELETE /app/chat-pins/:id', {
      summary: 'Take back a pin; without one it does nothing',
      scope: 'chat:write',
      on: 'chat',
      role: 'viewer',
      inAnyStatus: true,
      inArchivedWorkspace: true,
      reply: deleted,
      beyond: true,
    }),
  }) as const
