import { z } from 'zod'
import { deleted, endpoint, idOut, page, time } from '#core/contract.ts'

export const Approval = z
  .object({
    id: idOut,
    chat_id: idOut,
    agent_id: idOut,
    tool: z.string().describe('As `pending_actions` name it.'),
    created_at: time,
  })
  .meta({ id: 'ChatApproval' })

/** Tools that a person lets an agent use in a chat without being asked again. */
export const approvalEndpoints = {
  approvals: endpoint('GET /chats/:id/approvals', {
    summary: 'List the tools that you allow without being asked again, the latest first',
    description:
      'Given by `remember: chat` of a decision. Yours alone, for the runs of your messages in this chat; a new version of the agent ends it.',
    scope: 'chat:read',
    on: 'chat',
    reply: page(Approval),
    beyond: true,
  }),
  revoke_approval: endpoint('DELETE /chats/:id/approvals/:approval_id', {
    summary: 'Take back that a tool is allowed without asking',
    scope: 'chat:run',
    on: 'chat',
    role: 'viewer',
    onShare: 'edit',
    inAnyStatus: true,
    inArchivedWorkspace: true,
    reply: deleted,
    errors: ['not_found'],
    beyond: true,
  }),
} as const
