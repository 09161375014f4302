import { z } from 'zod'
import { resource } from '#core/access.ts'
import { deleted, endpoint, idOut, page, time } from '#core/contract.ts'

export const Approval = z
  .object({
    id: idOut,
    chat_id: idOut,
    agent_id: idOut,
    tool: z.string().describe('As in `pending_actions`.'),
    created_at: time,
  })
  .meta({ id: 'ChatApproval' })

export const approvalEndpoints = {
  approvals: endpoint('GET /chats/:id/approvals', {
    summary: 'List the tools you allowed for the rest of a chat',
    description:
      'Approvals given with `remember: chat`, newest first. They apply only to runs of your messages in this chat, and end when the agent gets a new version.',
    access: resource('chat', { scope: 'chat:read' }),
    reply: page(Approval),
    beyond: true,
  }),
  revoke_approval: endpoint('DELETE /chats/:id/approvals/:approval_id', {
    summary: 'Revoke an approval for a tool',
    access: resource('chat', {
      scope: 'chat:run',
      role: 'viewer',
      share: 'edit',
      inTrash: true,
      inArchivedWorkspace: true,
    }),
    reply: deleted,
    errors: ['not_found'],
    beyond: true,
  }),
} as const
