import { z } from 'zod'
import { byScope, inWorkspace, resource } from '#core/access.ts'
import { deleted, endpoint, id, idOut, one, page, time } from '#core/contract.ts'

export const DefaultModel = z
  .object({
    id: idOut,
    created_at: time,
    model: z.string().nullable().describe('Null: no model is available there.'),
  })
  .meta({ id: 'DefaultModel', description: '`id` is the ID of the workspace.' })

const ChatModel = z
  .object({ id: idOut, created_at: time, model: z.string().nullable().describe('Null: no model is available there.') })
  .meta({ id: 'ChatModel', description: '`id` is the ID of the chat.' })

const chatGoal = <G extends z.ZodType>(Goal: G) =>
  z
    .object({ id: idOut, created_at: time, goal: Goal.nullable().describe('Null: the active branch has no goal.') })
    .meta({ id: 'ChatGoal', description: '`id` is the ID of the chat.' })

export const appEndpoints = <C extends z.ZodType, G extends z.ZodType>(Chat: C, Goal: G) =>
  ({
    goal_or_none: endpoint('GET /app/chat-goals/:id', {
      summary: 'Get the goal of the active branch, or null',
      description: 'Like `GET /chats/:id/goal`, but returns null instead of 404.',
      access: resource('chat', { scope: 'chat:read' }),
      reply: one(chatGoal(Goal)),
      beyond: true,
    }),
    model: endpoint('GET /app/chat-models/:id', {
      summary: 'Get the model for your next message in a chat',
      description:
        'The chat’s model, otherwise its agent’s, otherwise your default model. Requires permission to send messages in the chat.',
      access: resource('chat', { scope: 'chat:run', share: 'edit' }),
      reply: one(ChatModel),
      errors: ['invalid_state'],
      beyond: true,
    }),
    default_model: endpoint('GET /app/chat-model', {
      summary: 'Get your default model',
      description:
        'The default model in your settings, otherwise the instance’s (`UK_DEFAULT_MODEL`), otherwise a model you can use.',
      access: inWorkspace('chat:run'),
      query: { workspace_id: id.optional().describe('The workspace of the chat. Default: your personal workspace.') },
      reply: one(DefaultModel),
      beyond: true,
    }),
    pinned: endpoint('GET /app/chat-pins', {
      summary: 'List your pinned chats, most recently pinned first',
      description: 'Includes archived chats, but none in the trash.',
      access: byScope('chat:read'),
      reply: page(Chat),
      beyond: true,
    }),
    pin: endpoint('POST /app/chat-pins/:id', {
      summary: 'Pin a chat for yourself',
      description: 'Has no effect if the chat is already pinned. Pins are visible only to you.',
      access: resource('chat', { scope: 'chat:write', role: 'viewer', inTrash: true, inArchivedWorkspace: true }),
      reply: one(Chat),
      errors: ['invalid_state'],
      beyond: true,
    }),
    unpin: endpoint('DELETE /app/chat-pins/:id', {
      summary: 'Unpin a chat',
      access: resource('chat', { scope: 'chat:write', role: 'viewer', inTrash: true, inArchivedWorkspace: true }),
      reply: deleted,
      beyond: true,
    }),
  }) as const
