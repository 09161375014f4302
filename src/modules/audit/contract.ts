import { z } from 'zod'
import { byScope } from '#core/access.ts'
import { area, endpoint, id, idOut, page, time } from '#core/contract.ts'

export const AuditEntry = z
  .object({
    id: idOut,
    created_at: time,
    actor: z
      .object({
        account_id: idOut.nullable().describe('Null: the server.'),
        via: z.string().nullable().describe('`session`, `key`, or `server` (on the account’s behalf).'),
        key_id: idOut.nullable().describe('The API key used, or the key that pays for an action of the server.'),
        run_id: idOut.nullable().describe('The run whose agent acted.'),
        automation_id: idOut.nullable().describe('The automation that caused the action.'),
      })
      .describe('Who acted.'),
    workspace_id: idOut.nullable().describe('Null: the action concerns the account or the instance.'),
    action: z.string().describe('The action, named like its event, such as `member.added`.'),
    subject: z.object({ type: z.string(), id: z.string() }).nullable().describe('The affected resource.'),
    details: z.record(z.string(), z.unknown()).describe('The values before and after, or the amount removed.'),
    request_id: z.string().nullable(),
  })
  .meta({ id: 'AuditEntry' })

export const audit = area(
  'audit',
  {
    title: 'Audit',
    summary: 'The record of permission changes and deletions. Entries outlive the resources they describe.',
  },
  {
    list: endpoint('GET /audit', {
      summary: 'List permission changes and deletions, newest first',
      description:
        'Covers the workspaces you own. For administrators, covers the whole instance. A key restricted to a workspace sees only that workspace.',
      access: byScope('member:read'),
      query: {
        workspace_id: id.optional().describe('Only this workspace, which you must own.'),
        account_id: id.optional().describe('Only actions by this account.'),
        action: z.string().max(100).optional().describe('Only this action, such as `share.created`.'),
        subject_id: z.string().max(100).optional().describe('Only actions on this resource.'),
      },
      reply: page(AuditEntry),
    }),
  },
)
