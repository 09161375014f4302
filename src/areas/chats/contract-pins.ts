import type { z } from 'zod'
import { deleted, endpoint, one, page } from '#kernel/contract.ts'

/** Chats that somebody keeps at hand: theirs alone, nobody else sees it. */
export const pinEndpoints = <C extends z.ZodType>(Chat: C) =>
  ({
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
