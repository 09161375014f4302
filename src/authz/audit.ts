import type { ColumnType, Generated, Selectable } from 'kysely'
import { newId } from '#core/ids.ts'
import type { Id } from '#core/ids.ts'
import { type Actor, actorOf } from '#core/principal.ts'
import type { Context } from '#infra/context.ts'

declare module '#infra/postgres/tables.ts' {
  interface Database {
    audit: AuditTable
  }
}
interface AuditTable {
  id: Id
  at: Generated<Date>
  account_id: Id | null
  workspace_id: Id | null
  action: string
  subject_type: string | null
  subject_id: string | null
  details: ColumnType<Record<string, unknown>, string, never>
  actor: ColumnType<Actor | null, string, never>
  request_id: string | null
}
export type AuditRow = Selectable<AuditTable>

export interface AuditEntry {
  action: string
  workspaceId: Id | null
  subject: { type: string; id: Id }
  /** The old and new values, or counts. Never a secret. */
  details: Record<string, unknown>
}

/** Records who changed access or deleted something, in the same transaction. Entries outlive what they describe. */
export async function writeAudit(ctx: Context, { action, workspaceId, subject, details }: AuditEntry): Promise<void> {
  await ctx.db
    .insertInto('audit')
    .values({
      id: newId(),
      account_id: ctx.principal.accountId,
      workspace_id: workspaceId,
      action,
      subject_type: subject.type,
      subject_id: subject.id,
      actor: JSON.stringify(actorOf(ctx.principal)),
      details: JSON.stringify(details),
      request_id: ctx.requestId,
    })
    .execute()
}
