import { z } from 'zod'
import { area, endpoint, id, idOut, page, time } from '#core/contract.ts'

export const AuditEntry = z
  .object({
    id: idOut,
    created_at: time,
    actor: z
      .object({
        account_id: idOut.nullable().describe('Null: the server itself.'),
        via: z.string().nullable().describe('`session`, `key`, or `server` on the account’s behalf.'),
        key_id: idOut.nullable().describe('The key that it was done with, or that pays for what the server did.'),
        run_id: idOut.nullable().describe('The run whose agent did it.'),
        automation_id: idOut.nullable().describe('The automation that it goes back to.'),
      })
      .describe('Who did it.'),
    workspace_id: idOut.nullable().describe('Null: it concerns the account or the instance.'),
    action: z.string().describe('What was done, in the words of its event, such as `member.added`.'),
    subject: z.object({ type: z.string(), id: z.string() }).nullable().describe('To what.'),
    details: z.record(z.string(), z.unknown()).describe('What was before and what is now, or how much went.'),
    request_id: z.string().nullable(),
  })
  .meta({ id: 'AuditEntry' })

export const audit = area(
  'audit',
  { title: 'Audit', summary: 'Who changed a right or removed something. It stays when all else is gone.' },
  {
    list: endpoint('GET /audit', {
      summary: 'List who changed rights and removed things, newest first',
      description:
        'Of the workspaces that you own; for the administrator of the instance, of everything. A key of one workspace sees that one alone.',
      scope: 'member:read',
      query: {
        workspace_id: id.optional().describe('Only of this workspace, which you must own.'),
        account_id: id.optional().describe('Only what this account did.'),
        action: z.string().max(100).optional().describe('Only this action, such as `share.created`.'),
        subject_id: z.string().max(100).optional().describe('Only what was done to this.'),
      },
      reply: page(AuditEntry),
    }),
  },
)
